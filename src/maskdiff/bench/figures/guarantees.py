"""Theorem 1 against measured errors, on noisy copies, where the true conditionals are known.

A view of noisy copies matters only through how many of the row's ones and zeros are visible. So a view's score has few
outcomes, each with a known probability: the expected score S*(x) is exact, and K views are one multinomial draw. The
levels of a grid of size L are 1/(L+1), ..., L/(L+1). B rows, L levels, O outcomes of a view.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from maskdiff import theory
from maskdiff.calibration import Calibration
from maskdiff.codes import FloatArray
from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.errors import SettingError
from maskdiff.progress import Callback, Progress

CALIBRATION = 99
# What the model that errs takes for the flip probability of 0.1.
BELIEVED = 0.13
SIZES = (1, 4, 16, 64, 256, 1024, 4096)
_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class CopiesScores:
    """Scores of noisy copies of `length` bits under the true conditionals.

    A model that errs takes bits to be flipped with the probability `believed`.
    """

    length: int = 8
    flip: float = 0.1
    believed: float | None = None

    @property
    def ceiling(self) -> float:
        """C: no conditional is below the flip probability, so no surprise is above this."""
        flip = self.flip if self.believed is None else self.believed
        return -float(np.log(min(flip, 1 - flip, self.flip, 1 - self.flip)))

    @property
    def true(self) -> CopiesScores:
        """The scores under the true conditionals."""
        return replace(self, believed=None)

    def model_error(self, n_levels: int) -> float:
        """epsilon: by how much the model raises the expected score of normal rows on average, exactly."""
        from scipy.stats import binom

        counts = np.arange(self.length + 1)
        share = (binom.pmf(counts, self.length, self.flip) + binom.pmf(counts, self.length, 1 - self.flip)) / 2
        return float(share @ (self.expected(counts, n_levels) - self.true.expected(counts, n_levels)))

    @cached_property
    def _outcomes(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]]:
        """By number of ones in a row: how many ones and zeros are visible, and the view's score, each (O,)."""
        oracle = NoisyCopiesOracle(self.length, self.flip if self.believed is None else self.believed)
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

    def _probability(self, n_ones: int, rate_L: FloatArray) -> FloatArray:
        """How likely each outcome of a view is at each mask rate, shape (L, O)."""
        from scipy.stats import binom

        ones, zeros, _ = self._outcomes[n_ones]
        visible = 1 - rate_L[:, None]
        p_LO = binom.pmf(ones, n_ones, visible) * binom.pmf(zeros, self.length - n_ones, visible)
        share_LO: FloatArray = p_LO / p_LO.sum(axis=1, keepdims=True)
        return share_LO

    def expected(self, n_ones: NDArray[np.int64], n_levels: int) -> FloatArray:
        """S*(x) of rows with so many ones, exactly, shape (B,)."""
        rate_L = _levels(n_levels)
        counts = range(self.length + 1)
        by_count = [(self._probability(ones, rate_L) @ self._outcomes[ones][2]).mean() for ones in counts]
        return np.array(by_count)[n_ones]

    def sampled(self, n_ones: NDArray[np.int64], n_levels: int, n_views: int, rng: Generator) -> FloatArray:
        """S(x): the average of `n_views` independent views at each level, shape (B,)."""
        total = np.zeros(len(n_ones))
        for ones in np.unique(n_ones):
            here, score_O = np.flatnonzero(n_ones == ones), self._outcomes[ones][2]
            for rate_L in np.array_split(_levels(n_levels), max(1, n_levels * len(here) * len(score_O) // _AT_ONCE)):
                p_LO = self._probability(int(ones), rate_L)
                drawn_BLO = rng.multinomial(n_views, p_LO, size=(len(here), len(rate_L)))
                total[here] += (drawn_BLO @ score_O).sum(axis=1) / n_views
        return total / n_levels


def _levels(n: int) -> FloatArray:
    """n levels, evenly over (0, 1)."""
    levels: FloatArray = np.arange(1, n + 1) / (n + 1)
    return levels


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

    False alarms are counted above a threshold two standard deviations (over rows, on a fine grid) above the normal
    rows' mean expected score, misses below one a standard deviation below that of the anomalies. `conformal` is the
    share of false alarms where `CALIBRATION` normal rows set the threshold for `rate` instead. Columns that end in
    `_model` are about a model that errs (see `BELIEVED`), with a known error.
    """
    if n_rows <= CALIBRATION:
        raise SettingError(f"the simulation needs more than {CALIBRATION} rows, which calibrate; got {n_rows}.")
    scores = scores or CopiesScores()
    rng = np.random.default_rng(seed)
    normal, odd = (_ones(scores, n_rows, mixture, seed + number) for number, mixture in enumerate((1.0, 0.0)))
    fine_0, fine_1 = (scores.expected(rows, 256) for rows in (normal, odd))
    above, below = float(fine_0.mean() + 2 * fine_0.std()), float(fine_1.mean() - fine_1.std())
    lines = []
    for done, size in enumerate(sizes := tuple(sizes), start=1):
        of_normal = _false_alarms(scores, normal, above, size, rate, rng)
        of_model = _false_alarms_of_model(scores, normal, above, size, np.random.default_rng(seed + 2))
        lines.append({"size": size, **of_normal, **_misses(scores, odd, below, size, rng), **of_model})
        if callback is not None:
            callback(Progress("simulating", done, len(sizes)))
    return pd.DataFrame(lines)


def _ones(scores: CopiesScores, n_rows: int, mixture: float, seed: int) -> NDArray[np.int64]:
    """How many ones each of `n_rows` noisy copies has, shape (B,)."""
    X, _ = make_noisy_copies(n_rows, seed, mixture=mixture, length=scores.length, flip=scores.flip)
    n_ones: NDArray[np.int64] = X.to_numpy(dtype=np.int64).sum(axis=1)
    return n_ones


def _false_alarms(
    scores: CopiesScores, rows: NDArray[np.int64], threshold: float, size: int, rate: float, rng: Generator
) -> dict[str, float]:
    expected, sampled = scores.expected(rows, size), scores.sampled(rows, size, size, rng)
    margin, C = max(0.0, threshold - float(expected.mean())), scores.ceiling
    return {
        "false_alarms": float((sampled > threshold).mean()),
        "false_alarms_forever": float((expected > threshold).mean()),
        "false_alarms_theorem": theory.theorem_false_alarms(margin, levels=size, views=size, ceiling=C),
        "false_alarms_bound": theory.false_alarm_bound(expected, threshold, n_views=size**2, ceiling=C),
        "spread_of_rows": float(expected.std()),
        "spread_of_views": float((sampled - expected).std()),
        "conformal": _conformal(sampled, rate, rng),
    }


def _false_alarms_of_model(
    scores: CopiesScores, rows: NDArray[np.int64], threshold: float, size: int, rng: Generator
) -> dict[str, float]:
    """The same for a model that errs, by the true expected scores and its error."""
    model = replace(scores, believed=BELIEVED)
    true, error, C = scores.expected(rows, size), model.model_error(size), model.ceiling
    margin = max(0.0, threshold - float(true.mean()) - error)
    bound = theory.false_alarm_bound(true, threshold, n_views=size**2, ceiling=C, model_error=error)
    return {
        "model_error": error,
        "false_alarms_model": float((model.sampled(rows, size, size, rng) > threshold).mean()),
        "theorem_model": theory.theorem_false_alarms(margin, levels=size, views=size, ceiling=C),
        "bound_model": bound,
    }


def _misses(
    scores: CopiesScores, rows: NDArray[np.int64], threshold: float, size: int, rng: Generator
) -> dict[str, float]:
    expected, sampled = scores.expected(rows, size), scores.sampled(rows, size, size, rng)
    margin, C = max(0.0, float(expected.mean()) - threshold), scores.ceiling
    return {
        "misses": float((sampled <= threshold).mean()),
        "misses_forever": float((expected <= threshold).mean()),
        "misses_theorem": theory.theorem_misses(margin, levels=size, views=size, ceiling=C),
        "misses_bound": theory.miss_bound(expected, threshold, n_views=size**2, ceiling=C),
    }


def _conformal(sampled: FloatArray, rate: float, rng: Generator, times: int = 200) -> float:
    """The share of false alarms among normal rows, averaged over many draws of the rows that set the threshold."""
    shares = []
    for _ in range(times):
        order = rng.permutation(len(sampled))
        calibration = Calibration.from_scores(sampled[order[:CALIBRATION]])
        shares.append((sampled[order[CALIBRATION:]] > calibration.threshold(rate)).mean())
    return float(np.mean(shares))
