"""What the checks need to know about judged rows, counted batch by batch. N rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from maskdiff.checks.strongest import StrongestColumns, StrongestTokens
from maskdiff.codes import BoolArray, IntArray
from maskdiff.detectors import Detector, Verdicts
from maskdiff.detectors.fingerprint import NOT_KNOWN, ONCE
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
        # Rows that can be compared with those of the fit, how many of them equal some, and which of those that were
        # there once are among them: copies of one row say no more than it does.
        self.compared = self.seen = 0
        # How many alarms each rule dismissed.
        self.dismissed: Counter[int] = Counter()
        self.matched = np.zeros(len(detector.fingerprint_.once), dtype=np.bool_)
        schema, is_table = detector.encoder_.schema_, detector.encoder_.parts == "columns"
        self.strongest = StrongestColumns(schema) if is_table else StrongestTokens(schema.fields[0])
        self.codes = CodeCounts(schema) if is_table else None

    def add(self, verdicts: Verdicts) -> Self:
        """Count rows; those without evidence cannot be alarms and are left out."""
        judged = ~np.isnan(verdicts.anomaly_score)
        self.rows += int(judged.sum())
        self.below_median += int((verdicts.p_value[judged] > _MEDIAN).sum())
        times = verdicts.times_learned
        self.compared += int((times != NOT_KNOWN).sum())
        self.seen += int(verdicts.seen.sum())
        if (times == ONCE).any():
            self.matched |= self.detector.fingerprint_.matched_once(verdicts.codes)
        if self.codes is not None:
            self.codes.add(verdicts.codes)
        if self.false_discovery_rate is None:
            self.alarms += int(verdicts.is_anomaly.sum())
            self._count_dismissed(verdicts.dismissed_by)
            self.strongest.add(verdicts)
        else:
            self.strongest.set_aside(verdicts, self.false_discovery_rate)
        return self

    def select(self, alarm: BoolArray, dismissed_by: IntArray | None = None) -> None:
        """Which of all rows are alarms, where that is known only after the last, and which a rule dismissed, (N,)."""
        self.alarms = int(alarm.sum())
        if dismissed_by is not None:
            self._count_dismissed(dismissed_by)
        self.strongest.select(alarm)

    def merge(self, other: CheckCounts) -> None:
        """The counts of other rows, judged by the same detector.

        With a false-discovery rate, what carries the alarms is not counted: `select` is about rows in one place.
        """
        for name in ("rows", "alarms", "below_median", "compared", "seen"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unknown = list(dict.fromkeys([*self.unknown, *other.unknown]))
        self.dismissed += other.dismissed
        self.matched |= other.matched
        mine, theirs = self.strongest, other.strongest
        if isinstance(mine, StrongestColumns):
            assert isinstance(theirs, StrongestColumns)
            mine.merge(theirs)
        else:
            assert isinstance(theirs, StrongestTokens)
            mine.merge(theirs)
        if self.codes is not None and other.codes is not None:
            self.codes.merge(other.codes)

    def __getstate__(self) -> dict[str, Any]:
        """Counts travel without the detector, which is large; `merge` them into counts that have one."""
        return {name: value for name, value in vars(self).items() if name not in ("detector", "calibration")}

    def _count_dismissed(self, dismissed_by: IntArray) -> None:
        self.dismissed.update(dismissed_by[dismissed_by > 0].tolist())

    @property
    def raised(self) -> int:
        """The alarms there were before rules dismissed some."""
        return self.alarms + self.dismissed.total()

    @property
    def normal_share(self) -> float:
        """The share of rows that look like normal ones: twice as many as score below the normal median."""
        return min(1.0, self.below_median / (1 - _MEDIAN) / max(1, self.rows))

    def n_above(self, rate: float) -> int:
        """How many calibration rows score as high as the threshold for this rate, or higher."""
        n = len(self.calibration)
        return n + 1 - math.ceil(round((n + 1) * (1 - rate), 9))
