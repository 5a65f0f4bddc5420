"""The alarms a report keeps: those with the highest scores, each with its odd cells and, within bounds, whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maskdiff.detectors import Verdicts
from maskdiff.report.subject import MOST_CONTEXT, Alarm, Rows, Subject, context_words

MOST_ALARMS = 50_000
# So many cells, or characters, are kept in whole rows; beyond that a row has only its explained cells.
MOST_CELLS = 2_000_000


class AlarmBook:
    """Takes alarms batch by batch and keeps those with the highest scores, in order."""

    def __init__(self, subject: Subject, most: int = MOST_ALARMS, room: int = MOST_CELLS) -> None:
        self.subject, self.most, self.room = subject, most, room
        self.alarms: list[Alarm] = []
        self.context_names: tuple[str, ...] | None = None

    def add(self, rows: Rows, verdicts: Verdicts, numbers: NDArray[np.int64]) -> None:
        if self.context_names is None:
            there = [] if rows.beside is None else self.subject.context(rows.beside)
            self.context_names = tuple(there[:MOST_CONTEXT])
        chosen = self._candidates(verdicts)
        if len(chosen):
            taken = rows.take(chosen)
            found = self.subject.alarms(taken, verdicts.take(chosen), numbers[chosen].tolist(), self.room)
            beside = zip(*(self._beside(taken, name) for name in self.context_names), strict=True)
            context = list(beside) or [()] * len(found)
            self.alarms += [replace(alarm, context=told) for alarm, told in zip(found, context, strict=True)]
            self.alarms = sorted(self.alarms, key=lambda alarm: -alarm.score)[: self.most]
            taken_up = np.cumsum([alarm.size for alarm in self.alarms])
            for alarm in self.alarms[int(np.searchsorted(taken_up, self.room, side="right")) :]:
                alarm.shorten()

    def _beside(self, rows: Rows, name: str) -> list[str]:
        there = rows.beside is not None and name in self.subject.context(rows.beside)
        return context_words(rows.beside, name) if there and rows.beside is not None else [""] * rows.n_rows

    def _candidates(self, verdicts: Verdicts) -> NDArray[np.int64]:
        """The alarms of this batch that may be among those kept, the highest score first."""
        full = len(self.alarms) >= self.most
        floor = self.alarms[-1].score if full and self.alarms else -np.inf
        chosen = np.flatnonzero(verdicts.is_anomaly & (verdicts.anomaly_score > floor))
        return chosen[np.argsort(-verdicts.anomaly_score[chosen], kind="stable")][: self.most]
