"""Theorem 1 against measured errors, on noisy copies, where the true conditionals are known.

A view of noisy copies matters only through how many of the row's ones and zeros are visible. So a view's score has few
outcomes, each with a known probability: the expected score S*(x) is exact, and K views are one multinomial draw. The
levels of a grid of size L are 1/(L+1), ..., L/(L+1). B rows, O outcomes of a view.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from maskdiff import theory
from maskdiff.calibration import Calibration
from maskdiff.codes import FloatArray
from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.progress import Callback, Progress

SIZES = (1, 4, 16, 64, 256, 1024, 4096)


@dataclass(frozen=True)
class CopiesScores:
    """Scores of noisy copies of `length` bits under the true conditionals."""

    length: int = 8
    flip: float = 0.1

    @property
    def ceiling(self) -> float:
        """C: no conditional is below the flip probability, so no surprise is above this."""
        return -float(np.log(min(self.flip, 1 - self.flip)))

    @cached_property
    def _outcomes(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]]:
        """By number of ones in a row: how many ones and zeros are visible, and the view's score, each (O,)."""
        oracle = NoisyCopiesOracle(self.length, self.flip)
        found = []
        for n_ones in range(self.length + 1):
            n_zeros = self.length - n_ones
            ones, zeros = (g.ravel() for g in np.meshgrid(np.arange(n_ones + 1), np.arange(n_zeros + 1)))
            row = (np.arange(self.length) < n_ones).astype(np.int64)
            place = np.where(row == 1, np.arange(self.length), np.arange(self.length) - n_ones)
            visible = place < np.where(row == 1, ones[:, None], zeros[:, None])
            surprise = -oracle.log_prob(np.broadcast_to(row, visible.shape), visible)
            found.append((ones, zeros, surprise.sum(axis=1) / np.maximum((~visible).sum(axis=1), 1)))
        return found

    def _probability(self, n_ones: int, rate: float) -> FloatArray:
        """How likely each outcome of a view is at this mask rate, shape (O,)."""
        from scipy.stats import binom

        ones, zeros, _ = self._outcomes[n_ones]
        p = binom.pmf(ones, n_ones, 1 - rate) * binom.pmf(zeros, self.length - n_ones, 1 - rate)
        told: FloatArray = p / p.sum()
        return told

    def expected(self, n_ones: NDArray[np.int64], n_levels: int) -> FloatArray:
        """S*(x) of rows with so many ones, exactly, shape (B,)."""
        rates = np.arange(1, n_levels + 1) / (n_levels + 1)
        per_kind = [
            np.mean([self._probability(kind, rate) @ self._outcomes[kind][2] for rate in rates])
            for kind in range(self.length + 1)
        ]
        return np.array(per_kind)[n_ones]

    def sampled(self, n_ones: NDArray[np.int64], n_levels: int, n_views: int, rng: Generator) -> FloatArray:
        """S(x): the average of `n_views` independent views at each level, shape (B,)."""
        total = np.zeros(len(n_ones))
        kinds, kind_of = np.unique(n_ones, return_inverse=True)
        for rate in np.arange(1, n_levels + 1) / (n_levels + 1):
            for number, kind in enumerate(kinds):
                here = kind_of == number
                drawn = rng.multinomial(n_views, self._probability(int(kind), rate), size=int(here.sum()))
                total[here] += drawn @ self._outcomes[kind][2] / n_views
        return total / n_levels


def simulate(
    sizes: Iterable[int] = SIZES,
    *,
    scores: CopiesScores | None = None,
    n_rows: int = 2000,
    rate: float = 0.1,
    seed: int = 0,
    callback: Callback | None = None,
) -> pd.DataFrame:
    """For L = K in `sizes`: measured errors, the theorem's bounds, and the bounds that hold.

    Normal rows and anomalies are told apart by a threshold midway between their mean expected scores; `conformal` is
    the share of false alarms where 99 normal rows set the threshold for `rate` instead.
    """
    scores = scores or CopiesScores()
    rng = np.random.default_rng(seed)
    normal, odd = (_ones(scores, n_rows, mixture, seed + number) for number, mixture in enumerate((1.0, 0.0)))
    threshold = float(np.mean([scores.expected(rows, 64).mean() for rows in (normal, odd)]))
    lines = []
    for done, size in enumerate(sizes := tuple(sizes), start=1):
        lines.append(
            {"size": size, "threshold": threshold, **_compared(scores, size, threshold, normal, odd, rate, rng)}
        )
        if callback is not None:
            callback(Progress("simulating", done, len(sizes)))
    return pd.DataFrame(lines)


def _ones(scores: CopiesScores, n_rows: int, mixture: float, seed: int) -> NDArray[np.int64]:
    """How many ones each of `n_rows` noisy copies has, shape (B,)."""
    X, _ = make_noisy_copies(n_rows, seed, mixture=mixture, length=scores.length, flip=scores.flip)
    n_ones: NDArray[np.int64] = X.to_numpy(dtype=np.int64).sum(axis=1)
    return n_ones


def _compared(
    scores: CopiesScores,
    size: int,
    threshold: float,
    normal: NDArray[np.int64],
    odd: NDArray[np.int64],
    rate: float,
    rng: Generator,
) -> dict[str, float]:
    expected_0, expected_1 = (scores.expected(rows, size) for rows in (normal, odd))
    sampled_0, sampled_1 = (scores.sampled(rows, size, size, rng) for rows in (normal, odd))
    margin_0, margin_1 = (max(0.0, float(m)) for m in (threshold - expected_0.mean(), expected_1.mean() - threshold))
    grid: dict[str, Any] = {"levels": size, "views": size, "ceiling": scores.ceiling}
    views: dict[str, Any] = {"n_views": size**2, "ceiling": scores.ceiling}
    return {
        "false_alarms": float((sampled_0 > threshold).mean()),
        "false_alarms_forever": float((expected_0 > threshold).mean()),
        "false_alarms_theorem": theory.theorem_false_alarms(margin_0, **grid),
        "false_alarms_bound": theory.false_alarm_bound(expected_0, threshold, **views),
        "misses": float((sampled_1 <= threshold).mean()),
        "misses_forever": float((expected_1 <= threshold).mean()),
        "misses_theorem": theory.theorem_misses(margin_1, **grid),
        "misses_bound": theory.miss_bound(expected_1, threshold, **views),
        "spread_of_rows": float(expected_0.std()),
        "spread_of_views": float((sampled_0 - expected_0).std()),
        "conformal": _conformal(sampled_0, rate, rng),
    }


def _conformal(sampled: FloatArray, rate: float, rng: Generator, n_calibration: int = 99, times: int = 200) -> float:
    """The share of false alarms among normal rows, averaged over many draws of the rows that set the threshold."""
    shares = []
    for _ in range(times):
        order = rng.permutation(len(sampled))
        calibration = Calibration.from_scores(sampled[order[:n_calibration]])
        shares.append((sampled[order[n_calibration:]] > calibration.threshold(rate)).mean())
    return float(np.mean(shares))
