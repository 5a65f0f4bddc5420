"""What the checks need to know about judged rows, counted batch by batch. N rows, F columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Schema
from maskdiff.detectors import Detector, Verdicts
from maskdiff.drift.columns import CodeCounts

# Half of the normal rows have p-values above this.
_MEDIAN = 0.5


class CheckCounts:
    """Counts of judged rows, from which `run_checks` says what to know before their alarms are believed.

    Alarms are made at `false_alarm_rate` (None: the detector's own) or selected at `false_discovery_rate`; then `add`
    comes first for all rows, and `select` says at last which are alarms. `unknown` are columns the model never saw.
    `labelled_normal`: the rows are known to be normal, as in an evaluation.

    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 50)
    >>> counts = CheckCounts(detector).add(detector.judge([["cat", "woof"], ["cat", "meow"]]))
    >>> counts.rows, counts.alarms
    (2, 1)
    """

    def __init__(
        self,
        detector: Detector,
        *,
        false_alarm_rate: float | None = None,
        false_discovery_rate: float | None = None,
        unknown: Sequence[str] = (),
        labelled_normal: bool = False,
    ) -> None:
        self.detector, self.calibration = detector, detector.calibration_
        self.unknown, self.labelled_normal = list(unknown), labelled_normal
        self.false_discovery_rate = false_discovery_rate
        self.false_alarm_rate: float | None = None
        if false_discovery_rate is None:
            rate = detector.false_alarm_rate if false_alarm_rate is None else false_alarm_rate
            self.false_alarm_rate = self.calibration.rate_or_default(rate)
        self.rows = self.alarms = self.below_median = 0
        is_table = detector.encoder_.parts == "columns"
        self.strongest = StrongestColumns(detector.encoder_.schema_) if is_table else None
        self.codes = CodeCounts(detector.encoder_.schema_) if is_table else None

    def add(self, verdicts: Verdicts) -> Self:
        """Count rows; those without evidence cannot be alarms and are left out."""
        judged = ~np.isnan(verdicts.anomaly_score)
        self.rows += int(judged.sum())
        self.below_median += int((verdicts.p_value[judged] > _MEDIAN).sum())
        if self.codes is not None:
            self.codes.add(verdicts.codes)
        if self.false_discovery_rate is None:
            self.alarms += int(verdicts.is_anomaly.sum())
        if self.strongest is not None and self.false_discovery_rate is None:
            self.strongest.add(verdicts)
        elif self.strongest is not None:
            self.strongest.set_aside(verdicts)
        return self

    def select(self, alarm: BoolArray) -> None:
        """Which of all rows are alarms, where that is known only after the last, shape (N,)."""
        self.alarms = int(alarm.sum())
        if self.strongest is not None:
            self.strongest.select(alarm)

    @property
    def normal_share(self) -> float:
        """The share of rows that look like normal ones: twice as many as score below the normal median."""
        return min(1.0, self.below_median / (1 - _MEDIAN) / max(1, self.rows))

    def n_above(self, rate: float) -> int:
        """How many calibration rows score as high as the threshold for this rate, or higher."""
        n = len(self.calibration)
        return n + 1 - math.ceil(round((n + 1) * (1 - rate), 9))


class StrongestColumns:
    """For each alarm the column that adds most to its score, and its code there, counted; `carried` is by column.

    `in_alarms` and `in_others` (F,) are what each column adds to all alarms and to all other rows.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.carried: list[NDArray[np.int64]] = [np.zeros(field.size + 1, np.int64) for field in schema]
        self.in_alarms, self.in_others = np.zeros(len(schema)), np.zeros(len(schema))
        self.alarms = self.others = 0
        self._aside: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def add(self, verdicts: Verdicts) -> None:
        alarm, contributions = verdicts.is_anomaly, verdicts.contributions
        odd = contributions[alarm]
        in_alarms = odd.sum(axis=0)
        self.in_alarms += in_alarms
        self.in_others += contributions.sum(axis=0) - in_alarms
        self.alarms += len(odd)
        self.others += len(contributions) - len(odd)
        if len(odd):
            column = odd.argmax(axis=1)
            self._count(column, verdicts.codes.values[alarm, column])

    def set_aside(self, verdicts: Verdicts) -> None:
        """Keep the strongest column of every row until it is known which are alarms."""
        column = verdicts.contributions.argmax(axis=1)
        code = verdicts.codes.values[np.arange(len(column)), column]
        self._aside.append((column.astype(np.min_scalar_type(len(self.schema))), code))

    def select(self, alarm: BoolArray) -> None:
        at = 0
        for column, code in self._aside:
            chosen = alarm[at : at + len(column)]
            self._count(column[chosen], code[chosen])
            at += len(column)

    def growth(self, column: int) -> float:
        """How many times as much a column adds to an alarm as to another row; infinite where that is not known."""
        if not self.alarms or not self.others or self.in_others[column] <= 0:
            return math.inf
        return float(self.in_alarms[column] / self.alarms / (self.in_others[column] / self.others))

    def _count(self, column: NDArray[np.int64], code: NDArray[np.int64]) -> None:
        for at in np.unique(column).tolist():
            self.carried[at] += np.bincount(code[column == at], minlength=len(self.carried[at]))
