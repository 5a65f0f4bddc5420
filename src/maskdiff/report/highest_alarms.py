"""The alarms a report keeps: those with the highest scores, each with its odd cells and, within limits, whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maskdiff.detectors import Verdicts
from maskdiff.report.alarms import Alarm
from maskdiff.report.content.base import MAX_CONTEXT, ReportRows, RowContent, context_texts

MAX_ALARMS = 50_000
# The cells, or characters, kept in whole rows; beyond that a row has only its explained cells.
MAX_CELLS = 2_000_000


class HighestAlarms:
    """Takes alarms batch by batch and keeps those with the highest scores, in order."""

    def __init__(self, content: RowContent, max_alarms: int = MAX_ALARMS, max_cells: int = MAX_CELLS) -> None:
        self.content, self.max_alarms, self.max_cells = content, max_alarms, max_cells
        self.alarms: list[Alarm] = []
        self.context_names: tuple[str, ...] | None = None

    def add(self, rows: ReportRows, verdicts: Verdicts, numbers: NDArray[np.int64]) -> None:
        if self.context_names is None:
            self.context_names = tuple(self._context_columns(rows)[:MAX_CONTEXT])
        chosen = self._candidates(verdicts)
        if not len(chosen):
            return
        rows = rows.take(chosen)
        alarms = self.content.alarms(rows, verdicts.take(chosen), numbers[chosen].tolist(), self.max_cells)
        self.alarms += self._with_context(alarms, rows)
        self.alarms = sorted(self.alarms, key=lambda alarm: -alarm.score)[: self.max_alarms]
        sizes = np.cumsum([alarm.size for alarm in self.alarms])
        for alarm in self.alarms[int(np.searchsorted(sizes, self.max_cells, side="right")) :]:
            alarm.drop_whole_row()

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
        """The alarms of this batch that may be among those kept, the highest score first."""
        full = len(self.alarms) >= self.max_alarms
        floor = self.alarms[-1].score if full and self.alarms else -np.inf
        chosen = np.flatnonzero(verdicts.is_anomaly & (verdicts.anomaly_score > floor))
        return chosen[np.argsort(-verdicts.anomaly_score[chosen], kind="stable")][: self.max_alarms]
