"""How many rows are odd, decided by the scores alone: how heavy their upper tail is for what their bulk suggests.

A power law is fitted to the upper bulk and continued upwards: a heavy tail, for some normal rows are rare without being
wrong. It says how many normal rows to expect above any score; the rows beyond that number are odd. N rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.calibration.false_discovery import reported
from maskdiff.codes import BoolArray, FloatArray

# From where to where the scores are fitted, as shares of all rows, and at how many points. Where the tail is more than
# so many times heavier by the first bulk than by the second, odd rows are so many that they are in it.
_BULK, _LOWER_BULK, _POINTS = (0.6, 0.9), (0.4, 0.75), 200
_HEAVIER, _FAR = 2.0, 0.95
# The same as shares of the rows that do not score like most, where most are more than begin the bulk, but not all.
_OF_OTHERS, _NEARLY_ALL = (0.1, 0.75), 0.99
# Once it is known about how many rows are odd, the bulk of the others is fitted again, so many times.
_REFITS = 3
# More odd rows than this share are not odd but another kind of normal.
MOST_ODD = 0.3
# Scores up to here are those of normal rows.
_SURELY_NORMAL = 0.65
# Scores that are closer than this say the same: where nearly all rows are alike, the differences between models are all
# that is left.
LEAST_SCALE = 0.02
# Scores are equal if they are to so many decimals. With fewer distinct ones there is no tail of distinct rows.
_DECIMALS, _FEWEST_DISTINCT = 6, 20
# Nothing is more certain than this: so many normal rows are to be expected above any score.
_LEAST_EXPECTED = 0.01
# Most odd rows score like normal ones. The interval of their number allows that only one in so many stands out, and
# that this share of all rows is odd without a trace; of the rows selected at a rate of 10% it counts four fifths.
_HIDDEN, _WITHOUT_TRACE = 8, 0.05
_RATE, _SURE = 0.1, 0.8


@dataclass(frozen=True)
class PowerTail:
    """The share of normal rows above a score is exp(a / b) x^(-1 / b), a power of its distance x from `origin`."""

    a: float
    b: float
    origin: float = 0.0

    @classmethod
    def of(cls, ordered: FloatArray, odd_share: float = 0.0, bulk: tuple[float, float] = _BULK) -> PowerTail:
        """Fitted to this part of scores that are in order, of which the highest `odd_share` are not normal."""
        share, origin = np.linspace(*_beyond_equal(ordered, bulk), _POINTS), min(0.0, float(ordered[0]))
        distance = np.log(np.maximum(np.quantile(ordered, share * (1 - odd_share)) - origin, LEAST_SCALE))
        a, b = _line(-np.log1p(-share), distance)
        return cls(a, max(b, LEAST_SCALE), origin)

    def share_above(self, scores: FloatArray) -> FloatArray:
        """The share of normal rows that score at least this high, shape (n,).

        >>> PowerTail(a=0.0, b=0.5).share_above(np.array([1.0, 2.0])).round(3).tolist()
        [1.0, 0.25]
        """
        distance = np.log(np.maximum(scores - self.origin, LEAST_SCALE))
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

    @classmethod
    def of(cls, n_standing_out: int, p_value: FloatArray) -> OddEstimate:
        """From the number of rows beyond what the bulk lets expect, and the p-values of all rows, (N,).

        >>> OddEstimate.of(40, np.repeat([1e-6, 0.5], [20, 980]))
        OddEstimate(number=40, low=16, high=370)
        """
        n = len(p_value)
        n_selected = int(reported(p_value, _RATE).sum())
        number = max(n_standing_out, n_selected)
        high = min(math.ceil(_HIDDEN * number + _WITHOUT_TRACE * n), n)
        return cls(number, int(_SURE * n_selected), max(high, number))


NONE_ODD = OddEstimate(0, 0, 0)


@dataclass(frozen=True, eq=False)
class DistinctScores:
    """The distinct scores of rows, in order, shape (D,), how many rows have each, and the place of each row, (n,).

    Equal rows have equal scores, and whatever makes one odd makes all of them odd: a thousand copies say no more about
    how the scores of normal rows thin out than one row does. So a tail is fitted to `units`, each score once. Where
    only a few scores are distinct there is nothing to fit, and rows are counted instead.
    """

    values: FloatArray
    counts: NDArray[np.int64]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, scores: FloatArray) -> DistinctScores:
        values, place, counts = np.unique(np.round(scores, _DECIMALS), return_inverse=True, return_counts=True)
        return cls(values, counts, place.reshape(-1))

    @property
    def counts_rows(self) -> bool:
        """Whether each row counts, not each distinct score."""
        return len(self.values) < _FEWEST_DISTINCT

    @property
    def units(self) -> FloatArray:
        """What a tail is fitted to, in order."""
        return np.repeat(self.values, self.counts) if self.counts_rows else self.values

    def n_units(self, n_rows: int) -> int:
        """How many units the rows with the highest scores are, at most so many rows."""
        return n_rows if self.counts_rows else int(np.searchsorted(self._rows_from_top, n_rows, side="right"))

    def in_top(self, n_units: int) -> BoolArray:
        """Which rows the distinct scores are that are highest, so many, shape (n,)."""
        top: BoolArray = self.place >= len(self.values) - n_units
        return top

    @property
    def _rows_from_top(self) -> NDArray[np.int64]:
        return np.cumsum(self.counts[::-1])


@dataclass(frozen=True, eq=False)
class TailCounts:
    """What the scores of N rows say: how many stand out, and how likely each row is normal, shape (N,).

    The chances of the distinct rows above a score add up to the number of normal ones that the bulk lets expect there.
    """

    n_odd: int
    normal: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, n_odd: int | None = None, frequent: BoolArray | None = None) -> TailCounts:
        """From the scores of all rows, each by models that did not see it; NaN where there is no evidence.

        `n_odd` is how many rows are odd, where that is known. `frequent` rows, (N,), have so many copies that they are
        normal, whatever their scores.
        """
        judged, normal = np.flatnonzero(~np.isnan(scores)), np.ones(len(scores))
        if not len(judged):
            return cls(0, normal)
        distinct = DistinctScores.of(scores[judged])
        ordered, given = distinct.units, None if n_odd is None else distinct.n_units(n_odd)
        upper, number, counted = UpperScores.of(ordered), given or 0, given or 0
        bulk = _LOWER_BULK if _reaches_bulk(ordered) else _BULK
        for _ in range(_REFITS if given is None else 0):
            # What the lower bulk counts is too rough to judge single rows by.
            number, counted = upper.n_odd(ordered, number, bulk), upper.n_odd(ordered, counted, _BULK)
        chances = np.ones(len(distinct.values))
        chances[len(chances) - len(upper.values) :] = upper.chances(upper.expected(ordered, counted), given)
        normal[judged] = chances[distinct.place]
        if frequent is not None:
            normal[frequent] = 1.0
        if n_odd is not None:
            return cls(n_odd, normal)
        standing_out = number if distinct.counts_rows else _rare(distinct.in_top(number), judged, frequent)
        return cls(min(standing_out, int(MOST_ODD * len(judged))), normal)

    def p_values(self, scores: FloatArray) -> FloatArray:
        """Which share of the normal rows is expected to score at least as high as each of the same rows, (N,)."""
        judged = ~np.isnan(scores)
        normal = self.normal * judged
        order = np.argsort(-np.where(judged, scores, -np.inf), kind="stable")
        ordered, cumulated = scores[order], np.cumsum(normal[order])
        last = np.searchsorted(-ordered, -ordered, side="right") - 1  # equal scores have equal p-values
        p_value = np.ones(len(scores))
        p_value[order] = np.clip(cumulated[last], _LEAST_EXPECTED, None) / max(float(normal.sum()), 1.0)
        return np.where(judged, np.minimum(p_value, 1.0), 1.0)


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
        usual = max(median + LEAST_SCALE, float(ordered[int(_SURELY_NORMAL * n)]))
        first = int(np.searchsorted(ordered, usual, side="right"))
        values, counts = np.unique(ordered[first:], return_counts=True)
        return cls(values, counts, np.cumsum(counts[::-1])[::-1], first)

    def expected(self, ordered: FloatArray, n_odd: int, bulk: tuple[float, float] = _BULK) -> FloatArray:
        """How many normal rows to expect at or above each score where `n_odd` rows are not normal, shape (V,)."""
        tail = PowerTail.of(ordered, n_odd / len(ordered), bulk)
        expected: FloatArray = (len(ordered) - n_odd) * tail.share_above(self.values)
        return expected

    def n_odd(self, ordered: FloatArray, before: int, bulk: tuple[float, float]) -> int:
        """How many more rows there are above a score than expected and one deviation, where that is most.

        Only beyond the bulk that was fitted, `before` rows being taken for odd: inside of it a fit is off by chance.
        """
        expected = self.expected(ordered, before, bulk)
        beyond = self.above <= before + (1 - bulk[1]) * (len(ordered) - before)
        more = (self.above - expected - np.sqrt(expected))[beyond]
        return round(min(MOST_ODD * len(ordered), max(0.0, float(more.max(initial=0.0)))))

    def chances(self, expected: FloatArray, most_odd: int | None = None) -> FloatArray:
        """How likely a row with each score is normal, shape (V,).

        The chances of all rows above a score add up to the expected number, as far as at most `most_odd` rows are odd,
        and a row that is normal counts as one.
        """
        above = self.above[::-1]
        odd = np.clip(above - expected[::-1], 0, above if most_odd is None else np.minimum(most_odd, above))
        normal = np.maximum.accumulate(above - np.maximum.accumulate(odd))
        chances: FloatArray = np.diff(normal, prepend=0.0)[::-1] / self.counts
        return chances


def _rare(chosen: BoolArray, judged: NDArray[np.int64], frequent: BoolArray | None) -> int:
    """How many of the rows chosen, among those judged, are not frequent."""
    return int(chosen.sum() if frequent is None else (chosen & ~frequent[judged]).sum())


def _beyond_equal(ordered: FloatArray, bulk: tuple[float, float]) -> tuple[float, float]:
    """The bulk, or where most rows score the same a part of the others: equal scores do not say how scores thin out."""
    median = float(ordered[len(ordered) // 2])
    equal = float(np.searchsorted(ordered, median + LEAST_SCALE, side="right") / len(ordered))
    if not _BULK[0] < equal < _NEARLY_ALL:
        return bulk
    low, high = (equal + share * (1 - equal) for share in _OF_OTHERS)
    return max(bulk[0], low), max(bulk[1], high)


def _reaches_bulk(ordered: FloatArray) -> bool:
    """Whether odd rows are in the upper bulk, so that the lower one has to say how many they are.

    They are far above it; groups of normal rows, one of which scores a little higher than the others, are not.
    """
    origin, (end, far) = min(0.0, float(ordered[0])), np.quantile(ordered, [_LOWER_BULK[1], _FAR])
    heavier = PowerTail.of(ordered).b > _HEAVIER * PowerTail.of(ordered, bulk=_LOWER_BULK).b
    return bool(heavier and far - origin > _HEAVIER * (end - origin))


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Intercept and slope of the least-squares line."""
    dx = x - x.mean()
    slope = float((dx * y).sum() / (dx * dx).sum())
    return float(y.mean() - slope * x.mean()), slope
