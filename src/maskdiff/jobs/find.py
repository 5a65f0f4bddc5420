"""Finding: one file whose odd rows nobody knows, the odd ones out, ranked and with reasons."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskdiff.calibration import Calibration
from maskdiff.checks import Check, CheckCounts, CheckSettings
from maskdiff.checks.one_cause import one_column
from maskdiff.codes import BoolArray
from maskdiff.detectors import Detector, Findings, TokenDetector
from maskdiff.detectors.finding.finder import fit_find_batches
from maskdiff.detectors.finding.findings import findings_of
from maskdiff.detectors.finding.ordering import orderable
from maskdiff.detectors.finding.search import FindOptions, Found
from maskdiff.detectors.finding.tail import NONE_ODD, OddEstimate
from maskdiff.detectors.finding.ties import column_values
from maskdiff.errors import NoEvidenceWarning, SettingError, UnknownColumnError
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import check_writable, open_rows, open_writer
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines, as_batch
from maskdiff.jobs.checkpoint import CHECKPOINT_FILE, Checkpoints
from maskdiff.jobs.fit import files_of, normal_rows_of, unfitted
from maskdiff.jobs.fit_settings import ColumnOptions, DetectorSettings
from maskdiff.jobs.rows.model import ModelRows, rows_for
from maskdiff.jobs.rows.table import place_of
from maskdiff.jobs.score import written_like
from maskdiff.jobs.verdict_columns import VerdictColumns
from maskdiff.progress import Callback, Progress
from maskdiff.report import PAGE, ReportBuilder, write_page
from maskdiff.report.periods import period_counts
from maskdiff.storage import MODEL_FILE, save

# Unless a number is given, all rows found are written, and no fewer or more than these.
FEWEST_WRITTEN, MOST_WRITTEN = 100, 10_000
ROW = "row"


@dataclass(frozen=True)
class FindOutput:
    """What is written: the `top` rows (None: those found, at least 100), with `explain` reasons each.

    The HTML page `report` and the model file `model` where they are named; `prefix` is put before the names of the
    added columns.
    """

    top: int | None = None
    explain: int = 3
    report: str | None = None
    model: str | os.PathLike[str] | None = None
    prefix: str = ""
    force: bool = False

    def __post_init__(self) -> None:
        if self.explain < 0 or (self.top is not None and self.top < 1):
            raise SettingError(f"explain >= 0 cells and top >= 1 rows are needed; got {self.explain} and {self.top}.")


@dataclass(frozen=True)
class FindSummary:
    """How many rows were searched, found odd and written; about how many are odd, and how many were not learned from.

    `first` are the oddest rows, each with its number in the file, counted from 1, and its reasons. `checks` is what to
    know before the rows found are believed; `detector` has learned from all rows that were not left out.
    """

    rows: int
    found: int
    written: int
    false_discovery_rate: float
    estimated_odd: OddEstimate = NONE_ODD
    left_out: int = 0
    rounds: int = 1
    empty: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    skipped: SkippedLines = field(default_factory=SkippedLines)
    checks: list[Check] = field(default_factory=list)
    detector: Detector | None = None


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
) -> FindSummary:
    """Write the odd rows of a file to another, the oddest first, each with its number in the file and its reasons.

    `detector` and `columns` are as in `fit_file`; the columns `group` and `order` say which rows belong together (see
    `Detector.fit_find`) and are not learned from. `checkpoints` store the states of trainings, so that an interrupted
    search can go on. What is read is never written over.

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
    for left in () if checkpoints is None else checkpoints.files:
        check_output(left, inputs, CHECKPOINT_FILE, force=output.force)
    fitted = unfitted(detector, callback)
    with open_rows(rows, reading, repeatable=True) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the summary says how many rows are empty
        ties = {"group": _column(file, group), "order": _column(file, order), "checkpoints": checkpoints}
        named = [name for name in (group, order) if name is not None]
        columns_found = found_columns(file.schema, output, type(fitted)._encoder.places)
        normal = normal_rows_of(file, fitted, _without(columns, fitted, named), None, callback)
        found = fit_find_batches(fitted, lambda: map(fitted._read, normal.batches()), normal.n_rows, options, **ties)
        written = FoundRows(file, fitted, found, output, columns_found)
        with open_writer(out, written.schema, written_like(file, out, writing)) as write:
            for batch in written.ranked(file.reading.batch_rows(len(written.schema))):
                write(batch)
        if output.report is not None:
            _write_report(written, output, order, ties["order"], callback)
    if output.model is not None:
        save(fitted, output.model, force=output.force)
    if checkpoints is not None:
        checkpoints.done()
    return replace(written.summary(), skipped=file.skipped)


class FoundRows:
    """The rows of a file that were searched, on their way out."""

    def __init__(
        self, file: RowFile, detector: Detector, found: Found, output: FindOutput, columns: VerdictColumns
    ) -> None:
        self.file, self.found, self.output, self.columns = file, found, output, columns
        self.detector = copy.copy(detector)
        self.detector.progress = False
        self.model_rows: ModelRows = rows_for(file, self.detector)
        self.schema: pa.Schema = self.columns.schema
        self.order = np.argsort(-np.nan_to_num(found.score, nan=-np.inf), kind="stable")
        n_found = int(found.is_anomaly.sum())
        self.number = output.top or int(np.clip(n_found, FEWEST_WRITTEN, MOST_WRITTEN))
        self.counts = CheckCounts(self.detector, false_discovery_rate=found.options.false_discovery_rate)
        self.first: list[dict[str, Any]] = []

    def ranked(self, size: int) -> Iterator[pa.RecordBatch]:
        """The rows to be written, the oddest first, `size` at once."""
        chosen = np.zeros(len(self.order), np.bool_)
        chosen[self.order[: self.number]] = True
        parts, places = [self.schema.empty_table()], [np.empty(0, np.int64)]
        for batch, here, findings in self.judged(chosen | self._counted()):
            self._count(findings)
            keep = np.flatnonzero(chosen[here])
            few = _numbered(batch.take(pa.array(keep)), here[keep], numbered=self.columns)
            written = self.columns.behind(few, findings.take(keep), self.detector, self.model_rows)
            parts.append(pa.Table.from_batches([written], self.schema))
            places.append(here[keep])
        rank = np.empty(len(self.order), np.int64)
        rank[self.order] = np.arange(len(self.order))
        table = pa.concat_tables(parts).take(pa.array(np.argsort(rank[np.concatenate(places)])))
        self.first = table.slice(0, FEWEST_WRITTEN).to_pylist()
        for at in range(0, len(table), size):
            yield as_batch(table.slice(at, size))

    def judged(self, chosen: BoolArray) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64], Findings]]:
        """These rows of each batch, their places in the file, and the findings about them."""
        done = 0
        for batch in self.model_rows.batches():
            here = done + np.flatnonzero(chosen[done : done + batch.num_rows])
            if len(here):
                few = batch.take(pa.array(here - done))
                rows = self.detector._read(self.model_rows.read(few, done + 1))
                yield few, here, findings_of(self.found, self.detector, rows, here)
            done += batch.num_rows

    def _counted(self) -> BoolArray:
        """The rows found, as far as they are counted for the checks."""
        counted = np.zeros(len(self.order), np.bool_)
        counted[self.order[:MOST_WRITTEN]] = True
        return counted & self.found.is_anomaly

    def _count(self, findings: Findings) -> None:
        found = np.flatnonzero(findings.is_anomaly)
        if len(found):
            self.counts.add(findings.take(found))

    def summary(self) -> FindSummary:
        """What there is to say, once the rows are written."""
        found, n_empty = self.found, int(np.isnan(self.found.score).sum())
        self.counts.select(np.ones(self.counts.rows, np.bool_))
        check = one_column(self.counts, CheckSettings())
        return FindSummary(
            rows=len(found.score),
            found=int(found.is_anomaly.sum()),
            written=min(self.number, len(found.score)),
            false_discovery_rate=found.options.false_discovery_rate,
            estimated_odd=found.estimated_odd,
            left_out=int(found.left_out.sum()),
            rounds=len(found.rounds),
            empty=n_empty,
            first=[_first(row, self.output) for row in self.first],
            checks=[] if check is None else [check],
            detector=self.detector,
        )


def found_columns(schema: pa.Schema, output: FindOutput, places: tuple[str, ...]) -> VerdictColumns:
    """What is added to the rows of a file: their numbers there, verdicts and reasons."""
    number = output.prefix + ROW
    if number in schema.names:
        raise UnknownColumnError(
            f"there is a column {number!r} already. Put a prefix before the names of the new ones.", setting="prefix"
        )
    return VerdictColumns(schema.append(pa.field(number, pa.int64())), output.explain, output.prefix, places)


def _first(row: dict[str, Any], output: FindOutput) -> dict[str, Any]:
    """A written row in short: its number, score, p-value, whether it was found, and its reasons."""
    named = {name: row[output.prefix + name] for name in (ROW, "anomaly_score", "p_value", "is_anomaly")}
    reasons = (row[f"{output.prefix}reason_{rank}"] for rank in range(1, output.explain + 1))
    return {**named, "reasons": [reason for reason in reasons if reason is not None]}


def _numbered(batch: pa.RecordBatch, places: NDArray[np.int64], numbered: VerdictColumns) -> pa.RecordBatch:
    """The rows with their numbers in the file behind them, counted from 1."""
    fields = [*numbered.schema][: batch.num_columns + 1]
    return pa.RecordBatch.from_arrays([*batch.columns, pa.array(places + 1)], schema=pa.schema(fields))


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
    assert output.report is not None
    found, detector = written.found, copy.copy(written.detector)
    kept = Calibration.from_scores(found.score[~found.left_out])
    detector.adopt_calibration(kept)
    rate = None
    if found.is_anomaly.any():
        lowest = float(np.nanmin(found.score[found.is_anomaly]))
        rate = float(np.clip((1 + (kept.scores >= lowest).sum()) / (len(kept) + 1), kept.finest_rate, 0.5))
    counts, moments = (None, None) if times is None else period_counts(str(order), orderable(times))
    builder, done = ReportBuilder(detector, false_alarm_rate=rate, order=counts), 0
    for batch, places, findings in written.judged(np.ones(len(found.score), np.bool_)):
        here = None if moments is None else moments[places]
        builder.add(written.model_rows.shown(batch), places + 1, verdicts=findings, moments=here)
        done += len(places)
        if callback is not None:
            callback(Progress("report", done, len(found.score)))
    page = builder.html(source=Path(written.file.name).name, model=None)
    write_page(page, output.report, force=output.force)
