"""Finding: one file whose odd rows nobody knows, the odd ones out, ranked and with reasons."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.calibration import Calibration
from maskdiff.detectors import Detector, TokenDetector
from maskdiff.detectors.finding.cross_fit import CrossFit, LearnFolds
from maskdiff.detectors.finding.finder import fit_find_batches
from maskdiff.detectors.finding.ordering import orderable
from maskdiff.detectors.finding.search import FindOptions
from maskdiff.detectors.finding.ties import column_values
from maskdiff.errors import NoEvidenceWarning
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import check_writable, open_rows, open_writer
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.jobs.cells import check_second_output
from maskdiff.jobs.checkpoint import CHECKPOINT_FILE, Checkpoints
from maskdiff.jobs.fit import NormalRows, files_of, naming_empty_file, normal_rows_of, unfitted
from maskdiff.jobs.fit_settings import ColumnOptions, DetectorSettings
from maskdiff.jobs.found_cells import check_has_cells, list_cells
from maskdiff.jobs.found_rows import FindOutput, FindSummary, FoundRows, found_columns
from maskdiff.jobs.rows.table import place_of
from maskdiff.jobs.score import written_like
from maskdiff.progress import Callback, Progress
from maskdiff.report import PAGE, ReportBuilder, write_page
from maskdiff.report.periods import period_counts
from maskdiff.report.search import SearchFacts
from maskdiff.report.sections import write_sections
from maskdiff.storage import MODEL_FILE, save

Engine = Callable[[RowFile], LearnFolds]


def find_file(
    rows: str,
    out: str = "-",
    *,
    detector: Detector | DetectorSettings | None = None,
    columns: ColumnOptions | None = None,
    options: FindOptions | None = None,
    group: str | None = None,
    order: str | None = None,
    output: FindOutput | None = None,
    reading: ReadOptions | None = None,
    writing: WriteOptions | None = None,
    checkpoints: Checkpoints | None = None,
    callback: Callback | None = None,
    engine: Engine | None = None,
) -> FindSummary:
    """Write the odd rows of a file to another, the oddest first, each with its number in the file and its reasons.

    `detector` and `columns` are as in `fit_file`; the columns `group` and `order` say which rows belong together (see
    `Detector.fit_find`) and are not learned from. `checkpoints` store the states of trainings, so that an interrupted
    search can go on. An `engine` makes the models of all folds elsewhere, given the open file. Odd cells of a
    table, all of its cells judged together, are listed in the file `output.cells`. What is read is never written over.

    >>> import tempfile
    >>> from maskdiff import TableDetector
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pets, found = Path(folder, "pets.csv"), Path(folder, "found.csv")
    ...     _ = pets.write_text("pet,says\\n" + "cat,meow\\ndog,woof\\n" * 100 + "cat,woof\\n")
    ...     summary = find_file(str(pets), str(found), detector=TableDetector("kernel"), output=FindOutput(top=1))
    ...     found.read_text().splitlines()[1].split(",")[:3]
    ['cat', 'woof', '201']
    >>> summary.rows, summary.found
    (201, 1)
    """
    output, writing, options = output or FindOutput(), writing or WriteOptions(), options or FindOptions()
    inputs = [rows, *files_of(detector)]
    check_output(out, inputs)
    check_writable(out, writing)
    check_output(output.model, inputs, MODEL_FILE, force=output.force)
    check_output(output.report, [*inputs, out], PAGE, force=output.force)
    of_cells = writing if output.cells is None else check_second_output(output.cells, out, inputs, writing)
    for left in () if checkpoints is None else checkpoints.files:
        check_output(left, inputs, CHECKPOINT_FILE, force=output.force)
    fitted, counts = unfitted(detector, callback), None
    if output.cells is not None:
        check_has_cells(fitted)
    with open_rows(rows, reading, repeatable=True) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the summary says how many rows are empty
        ties: dict[str, Any] = {
            "group": _column(file, group),
            "order": _column(file, order),
            "checkpoints": checkpoints,
        }
        named = [name for name in (group, order) if name is not None]
        columns_found = found_columns(file.schema, output, type(fitted)._encoder.places)
        normal = normal_rows_of(file, fitted, _without(columns, fitted, named), None, callback)
        batches = partial(_read_batches, fitted, normal)
        with naming_empty_file(file):
            learn_folds = CrossFit.learn if engine is None else engine(file)
            found = fit_find_batches(fitted, batches, normal.n_rows, options, **ties, learn_folds=learn_folds)
        written = FoundRows(file, fitted, found, output, columns_found)
        with open_writer(out, written.schema, written_like(file, out, writing)) as write:
            for batch in written.ranked(file.reading.batch_rows(len(written.schema))):
                write(batch)
        if output.cells is not None:
            cells = fitted._found_cells(found, batches, callback)
            assert cells is not None
            listed, counts = list_cells(written, cells, options.false_discovery_rate)
            with open_writer(output.cells, listed.schema, written_like(file, output.cells, of_cells)) as write:
                write(listed)
        if output.report is not None or output.sections is not None:
            _write_report(written, output, order, ties["order"], callback)
    if output.model is not None:
        save(fitted, output.model, force=output.force)
    if checkpoints is not None:
        checkpoints.done()
    return replace(written.summary, skipped=file.skipped, odd_cells=counts)


def _read_batches(detector: Detector, rows: NormalRows) -> Iterator[Any]:
    """The rows as the detector reads them."""
    return map(detector._read, rows.batches())


def _column(file: RowFile, name: str | None) -> pa.Array | None:
    """The values of a column that says which rows belong together."""
    if name is None:
        return None
    place = place_of(file, name)
    parts = [pa.Table.from_arrays([batch.column(name)], [name]) for batch in file.batches([place])]
    return column_values(pa.concat_tables(parts, promote_options="permissive"), name) if parts else pa.nulls(0)


def _without(columns: ColumnOptions | None, detector: Detector, names: list[str]) -> ColumnOptions | None:
    """The columns to learn from, without those that say which rows belong together."""
    if not names or isinstance(detector, TokenDetector):
        return columns
    columns = columns or ColumnOptions()
    return replace(columns, drop=[*columns.drop, *names])


def _write_report(
    written: FoundRows, output: FindOutput, order: str | None, times: pa.Array | None, callback: Callback | None
) -> None:
    """The page about all rows; its threshold is the score from which on rows were selected."""
    found, detector = written.found, copy.copy(written.detector)
    kept = Calibration.from_scores(found.alarm_score[~found.left_out])
    detector.adopt_calibration(kept)
    rate = threshold = None
    if found.is_anomaly.any():
        lowest = float(np.nanmin(found.alarm_score[found.is_anomaly]))
        rate = float(np.clip((1 + (kept.scores >= lowest).sum()) / (len(kept) + 1), kept.finest_rate, 0.5))
        # Not that of the rate: rows that were left out and are not found may score above all others.
        threshold = (lowest + float(found.alarm_score[found.alarm_score < lowest].max(initial=lowest - 1))) / 2
    counts, moments = (None, None) if times is None else period_counts(str(order), orderable(times))
    summary = written.summary
    facts = SearchFacts(
        summary.found,
        summary.false_discovery_rate,
        summary.estimated_odd,
        summary.left_out,
        summary.checks,
        threshold,
    )
    builder, done = ReportBuilder(detector, false_alarm_rate=rate, order=counts, search=facts), 0
    for batch, places, findings in written.judged(np.ones(len(found.score), np.bool_)):
        here = None if moments is None else moments[places]
        builder.add(written.model_rows.shown(batch), places + 1, verdicts=findings, moments=here)
        done += len(places)
        if callback is not None:
            callback(Progress("report", done, len(found.score)))
    if output.report is not None:
        page = builder.html(source=Path(written.file.name).name, model=None)
        write_page(page, output.report, force=output.force)
    if output.sections is not None:
        write_sections(builder, output.sections)
