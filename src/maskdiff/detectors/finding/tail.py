"""How many rows are odd, decided by the scores alone: how heavy their upper tail is for what their bulk suggests.

The bulk is fitted by two families: a + b (exp(g z) - 1) / g, z standard normal, from a normal distribution (g = 0) to a
lognormal one, as skewed as the bulk itself is; and a power law, whose tail is heavier. Continued upwards each says how
many normal rows to expect above any score; what is there beyond that number is odd. Where the bulk ends nobody knows,
so that several ends are tried. N rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from maskdiff.codes import FloatArray

# From where to where the scores are fitted, as shares of all rows.
_BULKS = ((0.02, 0.6), (0.02, 0.75), (0.02, 0.85), (0.1, 0.75))
_UPPER_BULKS = ((0.5, 0.85), (0.6, 0.9))
_LOWER_HALF = (0.02, 0.45)
# A fit needs no more points than these, and may be skewed as much as that.
_POINTS, _SKEWS = 200, np.linspace(0.0, 1.2, 25)
# A tail may expect so many times too few rows; the least number of odd ones allows for it.
_MISFIT = 1.25
# More odd rows than this share are not odd but another kind of normal.
MOST_ODD = 0.3
# Scores up to here are those of normal rows.
_SURELY_NORMAL = 0.65
# Scores that are closer than this say the same: where nearly all rows are alike, the differences between models are all
# that is left.
_LEAST_SCALE = 0.02


@dataclass(frozen=True)
class SkewedTail:
    """Scores of normal rows are a + b (exp(g z) - 1) / g."""

    a: float
    b: float
    g: float

    @classmethod
    def of(cls, ordered: FloatArray, bulk: tuple[float, float], odd_share: float = 0.0) -> SkewedTail:
        """Fitted to this part of the normal scores; all are in order, and the highest `odd_share` are not normal."""
        share = np.linspace(*bulk, _POINTS)
        quantile, z = np.quantile(ordered, share * (1 - odd_share)), norm.ppf(share)
        fits = [(*_line(_skewed(z, g), quantile), float(g)) for g in _SKEWS]
        _, a, b, g = min(fits)
        return cls(a, max(b, _LEAST_SCALE), g)

    def share_above(self, scores: FloatArray) -> FloatArray:
        """The share of normal rows that score at least this high, shape (n,).

        >>> SkewedTail(a=1.0, b=0.5, g=0.0).share_above(np.array([1.0, 2.0])).round(3).tolist()
        [0.5, 0.023]
        """
        x = (scores - self.a) / self.b
        z = x if self.g == 0 else np.log(np.maximum(1 + self.g * x, 1e-300)) / self.g
        above: FloatArray = norm.sf(z)
        return above


@dataclass(frozen=True)
class PowerTail:
    """The share of normal rows above a score is exp(a / b) x^(-1 / b), a power of its distance x from `origin`."""

    a: float
    b: float
    origin: float = 0.0

    @classmethod
    def of(cls, ordered: FloatArray, bulk: tuple[float, float], odd_share: float = 0.0) -> PowerTail:
        """Fitted to this part of the normal scores; all are in order, and the highest `odd_share` are not normal."""
        share, origin = np.linspace(*bulk, _POINTS), min(0.0, float(ordered[0]))
        distance = np.log(np.maximum(np.quantile(ordered, share * (1 - odd_share)) - origin, _LEAST_SCALE))
        _, a, b = _line(-np.log1p(-share), distance)
        return cls(a, max(b, _LEAST_SCALE), origin)

    def share_above(self, scores: FloatArray) -> FloatArray:
        """The share of normal rows that score at least this high, shape (n,).

        >>> PowerTail(a=0.0, b=0.5).share_above(np.array([1.0, 2.0])).round(3).tolist()
        [1.0, 0.25]
        """
        distance = np.log(np.maximum(scores - self.origin, _LEAST_SCALE))
        above: FloatArray = np.exp(np.minimum((self.a - distance) / self.b, 0.0))
        return above


@dataclass(frozen=True)
class OddEstimate:
    """About how many rows are odd, and the least and most that the scores allow."""

    number: int
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.number:,} ({self.low:,} to {self.high:,})"


NONE_ODD = OddEstimate(0, 0, 0)


@dataclass(frozen=True, eq=False)
class TailCounts:
    """What the scores of N rows say: how many of them are odd, and how likely each is normal, shape (N,).

    The chances of the rows above a score add up to the number of normal rows that the bulk lets expect there.
    """

    odd: OddEstimate
    normal: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, n_odd: int | None = None) -> TailCounts:
        """From the scores of all rows, each by a model that did not see it; NaN where there is no evidence.

        `n_odd` is how many rows are odd, where that is known.
        """
        judged = np.flatnonzero(~np.isnan(scores))
        order = judged[np.argsort(scores[judged], kind="stable")]
        ordered, normal = scores[order], np.ones(len(scores))
        if not len(order):
            return cls(NONE_ODD, normal)
        upper = UpperScores.of(ordered)
        # Once it is known about how many are odd, the bulk of the others can be told from them.
        number = _estimate(ordered, upper, upper.expected(ordered, 0.0)).number if n_odd is None else n_odd
        expected = upper.expected(ordered, number / len(order))
        odd = _estimate(ordered, upper, expected) if n_odd is None else OddEstimate(n_odd, n_odd, n_odd)
        # The heavier of the two families; of a family no fit that goes far astray.
        likely = np.maximum(np.median(expected[: len(_BULKS)], axis=0), expected[-1])
        normal[order[upper.first :]] = np.repeat(upper.chances(likely, odd.number), upper.counts)
        return cls(odd, normal)


@dataclass(frozen=True, eq=False)
class UpperScores:
    """The distinct scores above the bulk, in order, shape (V,), how many rows have each, and how many at least as much.

    `first` is the number of rows in the bulk.
    """

    values: FloatArray
    counts: NDArray[np.int64]
    above: NDArray[np.int64]
    first: int

    @classmethod
    def of(cls, ordered: FloatArray) -> UpperScores:
        """Of scores that are in order."""
        n, median = len(ordered), float(ordered[len(ordered) // 2])
        usual = max(median + _LEAST_SCALE, float(ordered[int(_SURELY_NORMAL * n)]))
        first = int(np.searchsorted(ordered, usual, side="right"))
        values, counts = np.unique(ordered[first:], return_counts=True)
        return cls(values, counts, np.cumsum(counts[::-1])[::-1], first)

    def expected(self, ordered: FloatArray, odd_share: float) -> FloatArray:
        """How many normal rows each tail lets expect at or above each score, shape (tails, V)."""
        tails = [SkewedTail.of(ordered, bulk, odd_share).share_above(self.values) for bulk in _BULKS]
        tails += [PowerTail.of(ordered, bulk, odd_share).share_above(self.values) for bulk in _UPPER_BULKS]
        expected: FloatArray = len(ordered) * (1 - odd_share) * np.stack(tails)
        return expected

    def odd(self, expected: FloatArray, deviations: float) -> float:
        """How many more rows there are above a score than expected, and so many deviations, where that is most."""
        more = self.above - expected - deviations * np.sqrt(expected)
        return max(0.0, float(more.max(initial=0.0)))

    def chances(self, expected: FloatArray, n_odd: int) -> FloatArray:
        """How likely a row with each score is normal, shape (V,).

        The chances of all rows above a score add up to the expected number, as far as at most `n_odd` rows are odd, and
        a row that is normal counts as one.
        """
        above = self.above[::-1]
        odd = np.clip(above - expected[::-1], 0, np.minimum(n_odd, above))
        normal = np.maximum.accumulate(above - np.maximum.accumulate(odd))
        chances: FloatArray = np.diff(normal, prepend=0.0)[::-1] / self.counts
        return chances


def _estimate(ordered: FloatArray, upper: UpperScores, expected: FloatArray) -> OddEstimate:
    """How many more rows there are than expected: the median of all tails, the least that one finds, and the most.

    The most are those by which the upper half is heavier than the lower one, as if normal scores were symmetric, and as
    many again: odd rows that score like normal ones are in no tail.
    """
    limit = MOST_ODD * len(ordered)
    number = round(min(limit, float(np.median([upper.odd(one, 1.0) for one in expected]))))
    low = int(min(upper.odd(_MISFIT * one, 2.0) for one in expected))
    high = max(max(upper.odd(one, -1.0) for one in expected), 2 * _asymmetry(ordered))
    return OddEstimate(number, min(low, number), max(math.ceil(min(high, limit)), number))


def _asymmetry(ordered: FloatArray) -> float:
    """How many more rows there are far above the median than as far below it, where that is most."""
    n, median = len(ordered), float(np.median(ordered))
    share = np.linspace(*_LOWER_HALF, _POINTS)
    mirrored = 2 * median - np.quantile(ordered, share)
    far = mirrored > median + _LEAST_SCALE
    more = (n - np.searchsorted(ordered, mirrored, side="right")) - share * n
    return float(np.where(far, more, 0.0).max(initial=0.0))


def _skewed(z: FloatArray, g: float) -> FloatArray:
    return z if g == 0 else np.expm1(g * z) / g


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float, float]:
    """Squared error, intercept and slope of the least-squares line."""
    dx = x - x.mean()
    slope = float((dx * y).sum() / (dx * dx).sum())
    a = float(y.mean() - slope * x.mean())
    return float(((y - a - slope * x) ** 2).sum()), a, slope
