"""Rows of a file as a page shows them: all of them with their verdicts, and the sections of a report about them."""

from __future__ import annotations

import warnings

from maskdiff.errors import NoEvidenceWarning
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import open_rows, open_writer
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.report import ReportSummary
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.verdict_columns import VerdictColumns
from maskdiff.progress import Callback, Progress
from maskdiff.report import ReportBuilder
from maskdiff.report.sections import write_sections


def view_file(
    model: Model,
    rows: str,
    out: str,
    sections: str,
    *,
    prefix: str = "",
    false_alarm_rate: float | None = None,
    reading: ReadOptions | None = None,
    callback: Callback | None = None,
) -> ReportSummary:
    """Judge every row of a file once: write it to `out` with its verdict, and the parts of a report to `sections`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new = Path(folder, "new.csv")
    ...     _ = new.write_text("pet,says\\ncat,meow\\ncat,woof\\n")
    ...     view_file(detector, str(new), f"{folder}/rows.csv", f"{folder}/sections.json").anomalies
    1
    """
    check_output(out, [rows, model_path(model)])
    check_output(sections, [rows, out, model_path(model)])
    detector = as_detector(model)
    builder = ReportBuilder(detector, false_alarm_rate=false_alarm_rate)
    with open_rows(rows, reading) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the sections say how many rows are empty
        model_rows = rows_for(file, detector)
        builder.check_counts.unknown = model_rows.ignored
        places, rules = detector.encoder_.places, bool(detector.dismissals_)
        columns = VerdictColumns(file.schema, 0, prefix, places, rules=rules, oddity=not places)
        with open_writer(out, columns.schema, WriteOptions()) as write:
            for batch in model_rows.batches():
                first = builder.n_rows + 1
                verdicts = detector.judge(model_rows.read(batch, first), builder.rate)
                builder.add(model_rows.shown(batch), first, verdicts=verdicts)
                write(columns.behind(batch, verdicts, detector, model_rows))
                if callback is not None:
                    callback(Progress("scoring", builder.n_rows, file.n_rows or 0))
        write_sections(builder, sections)
    return ReportSummary(builder.n_rows, builder.n_alarms, 0, file.skipped, builder.checks())
