"""The rows a report keeps: those with the highest scores, each with its odd cells and, within limits, whole."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maskdiff.detectors import Verdicts
from maskdiff.report.alarms import Alarm
from maskdiff.report.content.base import MAX_CONTEXT, ReportRows, RowContent, context_texts

MAX_ALARMS = 50_000
# The rows below the threshold that are kept for higher false-alarm rates.
MAX_BELOW = 1_000
# The rows whose p-values are named where nothing is an alarm.
N_LOWEST = 5
# The cells, or characters, kept in whole rows; beyond that a row has only its explained cells.
MAX_CELLS = 2_000_000


class RowVerdict(NamedTuple):
    """The number, the score and the p-value of a row."""

    number: int
    score: float
    p_value: float


class HighestAlarms:
    """Takes rows batch by batch and keeps those with the highest scores, in order: alarms, and some of the rows that
    are no alarms but score above `lowest`."""

    def __init__(
        self,
        content: RowContent,
        max_alarms: int = MAX_ALARMS,
        max_cells: int = MAX_CELLS,
        *,
        lowest: float = np.inf,
    ) -> None:
        self.content, self.max_alarms, self.max_cells, self.lowest = content, max_alarms, max_cells, lowest
        self.alarms: list[Alarm] = []
        self.below: list[Alarm] = []
        self.lowest_p: list[RowVerdict] = []
        self.context_names: tuple[str, ...] | None = None

    def add(self, rows: ReportRows, verdicts: Verdicts, numbers: NDArray[np.int64]) -> None:
        if self.context_names is None:
            self.context_names = tuple(self._context_columns(rows)[:MAX_CONTEXT])
        self._add_lowest_p(verdicts, numbers)
        chosen = self._candidates(verdicts)
        if not len(chosen):
            return
        rows = rows.take(chosen)
        found = self.content.alarms(rows, verdicts.take(chosen), numbers[chosen].tolist(), self.max_cells)
        found = sorted([*self.alarms, *self.below, *self._with_context(found, rows)], key=lambda one: -one.score)
        self.alarms = [one for one in found if one.is_alarm][: self.max_alarms]
        self.below = [one for one in found if not one.is_alarm][: self._max_below]
        kept = [*self.alarms, *self.below]
        sizes = np.cumsum([one.size for one in kept])
        for one in kept[int(np.searchsorted(sizes, self.max_cells, side="right")) :]:
            one.drop_whole_row()

    def _add_lowest_p(self, verdicts: Verdicts, numbers: NDArray[np.int64]) -> None:
        score = verdicts.alarm_score
        judged = np.flatnonzero(~np.isnan(score))
        highest = judged[np.argsort(-score[judged], kind="stable")][:N_LOWEST]
        found = zip(*(one[highest].tolist() for one in (numbers, score, verdicts.p_value)), strict=True)
        self.lowest_p += [RowVerdict(*one) for one in found]
        self.lowest_p = sorted(self.lowest_p, key=lambda one: -one.score)[:N_LOWEST]

    @property
    def _max_below(self) -> int:
        return min(MAX_BELOW, self.max_alarms - len(self.alarms))

    def _context_columns(self, rows: ReportRows) -> list[str]:
        return [] if rows.table is None else self.content.context_columns(rows.table)

    def _with_context(self, alarms: list[Alarm], rows: ReportRows) -> list[Alarm]:
        """The same alarms with their cells of the context columns, empty where this batch has no such column."""
        present = self._context_columns(rows)
        columns = [
            context_texts(rows.table, name) if rows.table is not None and name in present else [""] * rows.n_rows
            for name in self.context_names or ()
        ]
        cells = list(zip(*columns, strict=True)) or [()] * len(alarms)
        return [replace(alarm, context=context) for alarm, context in zip(alarms, cells, strict=True)]

    def _candidates(self, verdicts: Verdicts) -> NDArray[np.int64]:
        """The rows of this batch that may be among those kept, the highest score first."""
        alarm, score = verdicts.is_anomaly, verdicts.alarm_score
        below = ~alarm & (score > self.lowest) & verdicts.listed
        alarms = _highest(score, alarm, self.alarms, self.max_alarms)
        return np.concatenate([alarms, _highest(score, below, self.below, self._max_below)])


def _highest(score: NDArray[np.float64], of: NDArray[np.bool_], kept: list[Alarm], most: int) -> NDArray[np.int64]:
    """The rows among these whose scores may be among the `most` highest, the highest first."""
    floor = kept[-1].score if kept and len(kept) >= most else -np.inf
    chosen = np.flatnonzero(of & (score > floor))
    return chosen[np.argsort(-score[chosen], kind="stable")][:most]
