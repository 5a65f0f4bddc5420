"""Scoring a file: rows in, the same rows with verdicts and reasons out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskdiff.errors import SettingError
from maskdiff.io.formats import WriteOptions, open_rows, open_writer
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines
from maskdiff.jobs.model_rows import ModelRows, rows_for
from maskdiff.jobs.stages import Scored, anomalies, discoveries, highest, judged
from maskdiff.jobs.verdict_columns import VerdictColumns
from maskdiff.progress import Callback, Progress

if TYPE_CHECKING:
    from maskdiff.detectors import Detector


@dataclass(frozen=True)
class ScoreOptions:
    """Which rows are anomalies, which are written, and what is added to them.

    `explain` cells are named for each row. Anomalies score above the threshold for `false_alarm_rate` (None: the
    detector's own), or are so chosen that `false_discovery_rate` holds. `top`: only the highest, the highest first.
    """

    explain: int = 0
    only_anomalies: bool = False
    top: int | None = None
    false_alarm_rate: float | None = None
    false_discovery_rate: float | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        if self.false_alarm_rate is not None and self.false_discovery_rate is not None:
            raise SettingError("a false-alarm rate and a false-discovery rate are two promises; ask for one of them.")
        if self.false_discovery_rate is not None and not 0 < self.false_discovery_rate < 1:
            raise SettingError(f"a false-discovery rate must lie between 0 and 1; got {self.false_discovery_rate}.")
        if self.explain < 0 or (self.top is not None and self.top < 1):
            raise SettingError(f"explain >= 0 cells and top >= 1 rows are needed; got {self.explain} and {self.top}.")


@dataclass
class ScoreSummary:
    """How many rows were scored, called anomalies and written; the columns and lines that were left out.

    `empty` rows hold nothing to judge them by: a text without a token.
    """

    rows: int = 0
    anomalies: int = 0
    written: int = 0
    empty: int = 0
    ignored: list[str] = field(default_factory=list)
    skipped: SkippedLines = field(default_factory=SkippedLines)


def score_file(
    detector: Detector,
    rows: str,
    out: str = "-",
    asked: ScoreOptions | None = None,
    *,
    reading: ReadOptions | None = None,
    writing: WriteOptions | None = None,
    callback: Callback | None = None,
) -> ScoreSummary:
    """Write the rows of a file with their verdicts to another; "-" is a standard stream."""
    asked, tally = asked or ScoreOptions(), ScoreSummary()
    detector.threshold(asked.false_alarm_rate)  # a rate that cannot be promised is refused before anything is read
    with open_rows(rows, reading) as file:
        model = rows_for(file, detector)
        added = VerdictColumns(file.schema, asked.explain, asked.prefix, detector.encoder_.places)
        scored = _chosen(file, detector, model, asked, tally, callback)
        with open_writer(out, added.schema, _like(file, out, writing or WriteOptions())) as write:
            for part in scored:
                write(added.to(part, detector, model))
                tally.written += len(part.score)
        tally.ignored, tally.skipped = model.ignored, file.skipped
    return tally


def _like(file: RowFile, out: str, writing: WriteOptions) -> WriteOptions:
    """What came with semicolons goes with semicolons; tabs are not carried into a .csv file."""
    came = getattr(file, "delimiter", None)
    if came == "\t" and out.lower().endswith((".csv", ".csv.gz")):
        came = None
    return replace(writing, delimiter=writing.delimiter or came)


def _chosen(
    file: RowFile,
    detector: Detector,
    model: ModelRows,
    asked: ScoreOptions,
    tally: ScoreSummary,
    callback: Callback | None,
) -> Iterable[Scored]:
    """The rows to write, judged."""
    scored = _counted(judged(model, detector, asked.false_alarm_rate), tally, file.n_rows, callback)
    if asked.false_discovery_rate is not None:
        scored = discoveries(scored, detector, asked.false_discovery_rate, file.schema)
    scored = _alarms_counted(scored, tally)
    scored = anomalies(scored) if asked.only_anomalies else scored
    return highest(scored, asked.top, file.schema) if asked.top else scored


def _counted(
    scored: Iterable[Scored], tally: ScoreSummary, n_rows: int | None, callback: Callback | None
) -> Iterator[Scored]:
    for part in scored:
        tally.rows += len(part.score)
        tally.empty += int(np.isnan(part.score).sum())
        if callback is not None:
            callback(Progress("scoring", tally.rows, n_rows or 0))
        yield part


def _alarms_counted(scored: Iterable[Scored], tally: ScoreSummary) -> Iterator[Scored]:
    for part in scored:
        tally.anomalies += int(part.alarm.sum())
        yield part
