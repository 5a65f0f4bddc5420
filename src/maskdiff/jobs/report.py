"""A file of rows as one HTML page."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

from maskdiff.checks import Check
from maskdiff.errors import NoEvidenceWarning
from maskdiff.io.formats import open_rows
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions, SkippedLines
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.rows.model import rows_for
from maskdiff.progress import Callback, Progress
from maskdiff.report import PAGE, ReportBuilder, write_page


@dataclass(frozen=True)
class ReportSummary:
    """How many rows were scored and called anomalies, the size of the page, and the lines that could not be read.

    `checks` is what to know before the anomalies are believed; the page says it too.
    """

    rows: int
    anomalies: int
    size: int
    skipped: SkippedLines = field(default_factory=SkippedLines)
    checks: list[Check] = field(default_factory=list)


def report_file(
    model: Model,
    rows: str,
    out: str,
    *,
    false_alarm_rate: float | None = None,
    title: str | None = None,
    reading: ReadOptions | None = None,
    callback: Callback | None = None,
    force: bool = False,
) -> ReportSummary:
    """Write one self-contained page that shows which rows of a file are odd, and which cells make them so.

    Rows are read and judged as `score_file` does, and numbered from 1. A report already at `out` is replaced, any other
    file only with `force`, and what is read never.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, page = Path(folder, "new.csv"), Path(folder, "report.html")
    ...     _ = new.write_text("pet,says\\ncat,meow\\ncat,woof\\n")
    ...     summary = report_file(detector, str(new), str(page))
    >>> summary.rows, summary.anomalies
    (2, 1)
    """
    check_output(out, [rows, model_path(model)], PAGE, force=force)
    detector = as_detector(model)
    builder = ReportBuilder(detector, false_alarm_rate=false_alarm_rate)
    with open_rows(rows, reading) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the page says how many rows are empty
        model_rows = rows_for(file, detector)
        builder.check_counts.unknown = model_rows.ignored
        for batch in model_rows.batches():
            first = builder.n_rows + 1
            verdicts = detector.judge(model_rows.read(batch, first), builder.rate)
            builder.add(model_rows.shown(batch), first, verdicts=verdicts)
            if callback is not None:
                callback(Progress("scoring", builder.n_rows, file.n_rows or 0))
    path = model_path(model)
    name = None if path is None else Path(path).name
    write_page(builder.html(source=Path(file.name).name, model=name, title=title), out, force=force)
    return ReportSummary(builder.n_rows, builder.n_alarms, Path(out).stat().st_size, file.skipped, builder.checks())
