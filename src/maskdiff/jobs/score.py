"""Scoring: rows in, the same rows with verdicts and reasons out. Every row is judged exactly once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maskdiff.cascade import ALARMS, AUTO, Effort, check_effort
from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.detectors import Detector, Verdicts
from maskdiff.errors import NoEvidenceWarning, SettingError
from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import check_writable, open_rows, open_writer
from maskdiff.io.outputs import check_output
from maskdiff.io.rows import BatchRows, ReadOptions, RowFile, SkippedLines, as_batch
from maskdiff.jobs.cells import CELL_RATE, CELL_SCHEMA, OddCellCounts, OddCellSearch, check_second_output
from maskdiff.jobs.choice import Judged, Written, as_they_come, highest, possible_anomalies, set_aside
from maskdiff.jobs.models import Model, as_detector, model_path
from maskdiff.jobs.rows.model import rows_for
from maskdiff.jobs.verdict_columns import VerdictColumns, with_alarms
from maskdiff.progress import Callback, Progress


@dataclass(frozen=True)
class ScoreOptions:
    """Which rows are anomalies, which are written, and what is added to them.

    `explain` cells are named for each row. Anomalies score above the threshold for `false_alarm_rate` (None: the
    detector's own), or are chosen so that `false_discovery_rate` holds for all rows together. `only_anomalies`: the
    other rows are left out. `top`: only so many rows, the highest scores first. `prefix` is put before the names of the
    added columns. `effort` is how much work a row gets. Unless set it is "alarms" here, since people read the alarms
    and not the ranking of all other rows; a detector whose own effort is not "auto" keeps that.
    """

    explain: int = 0
    only_anomalies: bool = False
    top: int | None = None
    false_alarm_rate: float | None = None
    false_discovery_rate: float | None = None
    prefix: str = ""
    effort: Effort | None = None

    def __post_init__(self) -> None:
        if self.effort is not None:
            check_effort(self.effort)
        if self.false_alarm_rate is not None and self.false_discovery_rate is not None:
            raise SettingError("a false-alarm rate and a false-discovery rate are two promises; ask for one of them.")
        if self.false_discovery_rate is not None and not 0 < self.false_discovery_rate < 1:
            raise SettingError(f"a false-discovery rate must be between 0 and 1; got {self.false_discovery_rate}.")
        if self.explain < 0 or (self.top is not None and self.top < 1):
            raise SettingError(f"explain >= 0 cells and top >= 1 rows are needed; got {self.explain} and {self.top}.")


@dataclass
class ScoreSummary:
    """How many rows were scored, called anomalies and written; the columns and lines that were left out.

    `empty` rows hold nothing to judge them by (a text without a token): their score is null, their p-value 1, and they
    are never anomalies. `dismissed` rows would be anomalies but for rules of the model. `threshold` and
    `false_alarm_rate` are the promise that was kept, None where `false_discovery_rate` was; rows with a cell odder than
    `cell_threshold` are anomalies too, where it is not None. `odd_cells` counts the odd cells where they are listed.
    `checks` is what to know before the anomalies are believed.
    """

    rows: int = 0
    anomalies: int = 0
    written: int = 0
    empty: int = 0
    dismissed: int = 0
    threshold: float | None = None
    cell_threshold: float | None = None
    false_alarm_rate: float | None = None
    false_discovery_rate: float | None = None
    odd_cells: OddCellCounts | None = None
    ignored: list[str] = field(default_factory=list)
    skipped: SkippedLines = field(default_factory=SkippedLines)
    checks: list[Check] = field(default_factory=list)

    @property
    def expected_false_alarms(self) -> float | None:
        """About how many anomalies there would be if all rows were normal; None with a false-discovery rate."""
        return None if self.false_alarm_rate is None else self.false_alarm_rate * (self.rows - self.empty)


def score_batch(model: Model, batch: pa.RecordBatch, options: ScoreOptions | None = None) -> pa.RecordBatch:
    """The rows of a batch with their verdicts: the unit of work of every door.

    Columns are found by name and those the model never saw are passed through. Behind them stand anomaly_score,
    p_value, is_anomaly and, with `explain`, the reasons. Choices about all rows (`top`, `false_discovery_rate`) are
    about those of the batch.

    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> new = pa.RecordBatch.from_pydict({"id": [7, 8], "pet": ["cat", "cat"], "says": ["meow", "woof"]})
    >>> scored = score_batch(detector, new)
    >>> scored.schema.names
    ['id', 'pet', 'says', 'anomaly_score', 'p_value', 'is_anomaly']
    >>> scored.column("is_anomaly").to_pylist()
    [False, True]
    """
    scoring = Scoring(model, BatchRows(batch), options or ScoreOptions())
    return as_batch(pa.Table.from_batches(list(scoring.batches()), scoring.schema))


def score_file(
    model: Model,
    rows: str,
    out: str = "-",
    options: ScoreOptions | None = None,
    *,
    cells: str | None = None,
    reading: ReadOptions | None = None,
    writing: WriteOptions | None = None,
    callback: Callback | None = None,
) -> ScoreSummary:
    """Write the rows of a file with their verdicts to another; "-" is a standard stream.

    The odd cells of a table, those of all rows judged together, are listed in the file `cells`: on average at most a
    tenth of them is fine, or what `false_discovery_rate` says. The rows and the model are never written over.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit(pa.table({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     new, scored = Path(folder, "new.csv"), Path(folder, "scored.csv")
    ...     _ = new.write_text("pet,says\\ncat,meow\\ncat,woof\\n")
    ...     summary = score_file(detector, str(new), str(scored), ScoreOptions(explain=1))
    ...     scored.read_text().splitlines()[0].split(",")[:6]
    ['pet', 'says', 'anomaly_score', 'p_value', 'is_anomaly', 'oddity']
    >>> summary.rows, summary.anomalies
    (2, 1)
    """
    writing, options = writing or WriteOptions(), options or ScoreOptions()
    check_output(out, [rows, model_path(model)])
    check_writable(out, writing)
    of_cells = writing if cells is None else check_second_output(cells, out, [rows, model_path(model)], writing)
    with open_rows(rows, reading) as file, ExitStack() as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)  # the summary says how many rows are empty
        scoring = Scoring(model, file, options, callback)
        if cells is not None:
            rate = options.false_discovery_rate or CELL_RATE
            scoring.search = opened.enter_context(OddCellSearch(scoring.detector, file, rate))
        with open_writer(out, scoring.schema, written_like(file, out, writing)) as write:
            for batch in scoring.batches():
                write(batch)
        if cells is not None and scoring.search is not None:
            with open_writer(cells, CELL_SCHEMA, written_like(file, cells, of_cells)) as write:
                scoring.summary.odd_cells = scoring.search.write(scoring.model_rows, write)
    return replace(scoring.summary, skipped=file.skipped, checks=run_checks(scoring.counts))


class Scoring:
    """The rows of a file or batch on their way through a detector; `schema` is that of the rows with verdicts.

    The rows are added to `counts` where these are given, so that checks can be about many batches.
    """

    def __init__(
        self,
        model: Model,
        rows: RowFile,
        options: ScoreOptions,
        callback: Callback | None = None,
        counts: CheckCounts | None = None,
    ) -> None:
        self.rows, self.options, self.callback = rows, options, callback
        self.detector = _with_effort(as_detector(model), options)
        # A rate that cannot be promised is refused before anything is read.
        threshold = self.detector.threshold(options.false_alarm_rate)
        self.model_rows = rows_for(rows, self.detector)
        places, rules = self.detector.encoder_.places, bool(self.detector.dismissals_)
        oddity = options.explain > 0 and not places
        named = (rows.schema, options.explain, options.prefix, places)
        self.columns = VerdictColumns(*named, rules=rules, oddity=oddity)
        self.schema: pa.Schema = self.columns.schema
        self.summary = ScoreSummary(ignored=self.model_rows.ignored, false_discovery_rate=options.false_discovery_rate)
        if options.false_discovery_rate is None:
            rate = self.detector.false_alarm_rate if options.false_alarm_rate is None else options.false_alarm_rate
            self.summary.threshold = threshold
            self.summary.cell_threshold = self.detector.cell_threshold(options.false_alarm_rate)
            self.summary.false_alarm_rate = self.detector.calibration_.rate_or_default(rate)
        self.counts = counts or CheckCounts(
            self.detector,
            false_alarm_rate=options.false_alarm_rate,
            false_discovery_rate=options.false_discovery_rate,
            unknown=self.model_rows.ignored,
        )
        self.search: OddCellSearch | None = None
        self._scores: list[FloatArray] = []
        self._rules: list[IntArray] = []

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows to be written, with their verdict columns."""
        for part in self._finished(self._chosen()):
            self.summary.written += len(part.places)
            yield part.batch

    def _judged(self) -> Iterator[Judged]:
        """Every batch with its verdicts."""
        for batch in self.model_rows.batches():
            done = self.summary.rows
            verdicts = self.detector.judge(self.model_rows.read(batch, done + 1), self.options.false_alarm_rate)
            self._count(verdicts)
            self.counts.add(verdicts)
            if self.search is not None:
                self.search.add(batch, verdicts)
            yield Judged(batch, done + np.arange(batch.num_rows), verdicts)

    def _count(self, verdicts: Verdicts) -> None:
        scores = verdicts.alarm_score
        self.summary.rows += len(scores)
        self.summary.empty += int(np.isnan(scores).sum())
        if self.options.false_discovery_rate is None:
            self.summary.anomalies += int(verdicts.is_anomaly.sum())
            self.summary.dismissed += int((verdicts.dismissed_by > 0).sum())
        else:
            self._scores.append(scores)
            self._rules.append(np.zeros(len(scores), np.int64) if verdicts.rule is None else verdicts.rule)
        if self.callback is not None:
            self.callback(Progress("scoring", self.summary.rows, self.rows.n_rows or 0))

    def _chosen(self) -> Iterable[Written]:
        options, judged = self.options, self._judged()
        if options.only_anomalies:
            judged = possible_anomalies(judged, options.false_discovery_rate)
        if options.top is not None:
            size = self.rows.reading.batch_rows(len(self.schema))
            return highest(judged, self._write, self.schema, options.top, size)
        if options.false_discovery_rate is not None:
            return set_aside(judged, self._write, self.schema)
        return as_they_come(judged, self._write)

    def _finished(self, written: Iterable[Written]) -> Iterator[Written]:
        """With false-discovery control, the rows with the alarms that all scores together give."""
        rate = self.options.false_discovery_rate
        selected: tuple[BoolArray, IntArray] | None = None
        for part in written:
            if rate is not None:
                selected = self._selected(rate) if selected is None else selected
                alarm, dismissed_by = selected[0][part.places], selected[1][part.places]
                part = replace(part, batch=with_alarms(part.batch, alarm, dismissed_by, self.options.prefix))
                part = part.take(np.flatnonzero(alarm)) if self.options.only_anomalies else part
            yield part
        if rate is not None and selected is None:
            self._selected(rate)

    def _selected(self, rate: float) -> tuple[BoolArray, IntArray]:
        """Which of all rows are alarms, and which rule dismisses each of those that would be."""
        raised = self.detector.calibration_.select(np.concatenate([*self._scores, np.empty(0)]), rate)
        dismissed_by = np.where(raised, np.concatenate([*self._rules, np.empty(0, np.int64)]), 0)
        alarm = raised & (dismissed_by == 0)
        self.summary.anomalies, self.summary.dismissed = int(alarm.sum()), int((dismissed_by > 0).sum())
        self.counts.select(alarm, dismissed_by)
        return alarm, dismissed_by

    def _write(self, judged: Judged) -> pa.RecordBatch:
        return self.columns.behind(judged.batch, judged.verdicts, self.detector, self.model_rows)


def _with_effort(detector: Detector, options: ScoreOptions) -> Detector:
    own = ALARMS if detector.effort == AUTO else detector.effort
    return detector.with_effort(own if options.effort is None else options.effort, options.false_alarm_rate)


def written_like(file: RowFile, out: str, writing: WriteOptions) -> WriteOptions:
    """Rows that came with semicolons are written with semicolons; tabs and blanks are not carried into a .csv file."""
    delimiter = getattr(file, "delimiter", None)
    if delimiter in ("\t", " ") and out.lower().endswith((".csv", ".csv.gz")):
        delimiter = None
    return replace(writing, delimiter=writing.delimiter or delimiter)
