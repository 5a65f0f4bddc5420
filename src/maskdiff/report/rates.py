"""The false-alarm rates a page offers: the list of anomalies at each of them, without scoring the rows again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.detectors import Detector
from maskdiff.report.formatting import count, expected_alarms, percent, rate, score

COMMON_RATES = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
# How much lower than the report's own rate the others are, at least. Higher ones are all offered.
LOWEST_FACTOR = 0.1


@dataclass(frozen=True)
class RateChoice:
    """One false-alarm rate, its threshold, and how many rows are above it."""

    rate: float
    threshold: float
    n_alarms: int


class RateCounts:
    """Counts the rows above the thresholds of the rates that calibration allows; `threshold` is that of `rate`."""

    def __init__(self, detector: Detector, rate: float, threshold: float) -> None:
        lowest = max(detector.calibration_.finest_rate, LOWEST_FACTOR * rate)
        self.rates = sorted({rate, *(other for other in COMMON_RATES if other >= lowest)})
        self.own = self.rates.index(rate)
        lower = (max(threshold, detector.threshold(one)) for one in self.rates[: self.own])
        higher = (min(threshold, detector.threshold(one)) for one in self.rates[self.own + 1 :])
        self.thresholds = [*lower, threshold, *higher]
        self.counts = np.zeros(len(self.rates), dtype=np.int64)

    @property
    def lowest_threshold(self) -> float:
        return min(self.thresholds)

    def add(self, scores: FloatArray) -> None:
        self.counts += (scores[:, None] > np.array(self.thresholds)).sum(axis=0)

    def choices(self, n_kept: int) -> list[RateChoice]:
        """The rates up to the report's own, and the higher ones whose rows are all among the `n_kept` highest."""
        found = zip(self.rates, self.thresholds, self.counts.tolist(), strict=True)
        return [RateChoice(*one) for at, one in enumerate(found) if at <= self.own or one[2] <= n_kept]


def choice_texts(choices: Sequence[RateChoice], n_judged: int) -> list[dict[str, str | float | int]]:
    """The choices as the page's script shows them."""
    return [
        {
            "rate": rate(one.rate),
            "threshold": one.threshold,
            "thresholdText": score(one.threshold),
            "n": one.n_alarms,
            "nText": count(one.n_alarms),
            "verb": "stands" if one.n_alarms == 1 else "stand",
            "share": percent(one.n_alarms / max(1, n_judged)),
            "expected": expected_alarms(one.rate * n_judged),
        }
        for one in choices
    ]
