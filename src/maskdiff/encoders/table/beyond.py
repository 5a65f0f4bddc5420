"""Numbers beyond all that were seen: what they cost more, and what is said about them.

How much less likely a number is the further it is beyond depends on how the numbers seen thin out towards that end:
where the largest are far apart, as amounts of money are, ten times the largest is no wonder; where all differences are
from 0 to 14 days, 30 days before is. So a generalised Pareto tail is fitted to the outer tenth of the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

# As much as a probability of 1e-7 costs: even an infinite number costs no more, so no cell outweighs all others.
MOST_EXCESS = float(-np.log(1e-7))
# This part of the numbers at either end is its tail.
_TAIL = 0.1
# The shape of a tail is drawn to this one as if so many further numbers had it, for a few numbers tell little.
USUAL_SHAPE, _USUAL_WEIGHT = 0.5, 10
# A lighter tail would make a number impossible that is only far out, a heavier one has no mean.
_LIGHTEST, _HEAVIEST = 0.03, 0.9


@dataclass(frozen=True)
class Tail:
    """How fast numbers thin out beyond one end of a range: by a factor of e about every `scale`, then more slowly.

    The larger the `shape`, the more slowly; it is that of a generalised Pareto distribution.
    """

    scale: float
    shape: float

    def excess(self, distance: FloatArray) -> FloatArray:
        """-log of the chance that a number beyond the end is at least so far beyond it.

        It is bounded by `MOST_EXCESS`, which it reaches slowly, so that of two numbers the further one costs more.
        """
        nats = self.nats(distance)
        return 1 / np.hypot(1 / np.maximum(nats, 1e-300), 1 / MOST_EXCESS) * (nats > 0)

    def nats(self, distance: FloatArray) -> FloatArray:
        """The same without a bound; a tail of negative shape ends, and beyond its end nothing is possible."""
        with np.errstate(over="ignore", divide="ignore"):
            nats: FloatArray = np.log1p(np.maximum(self.shape * (distance / self.scale), -1.0)) / self.shape
        return nats

    def is_sound(self) -> bool:
        """Whether it can have been learned; one from a file may be anything."""
        numbers = all(type(one) is float and math.isfinite(one) for one in (self.scale, self.shape))
        return numbers and self.scale > 0 and 0 < self.shape <= 1


@dataclass(frozen=True)
class NumberRange:
    """Beyond `low` and `high` a number is unseen, and the odder the further it is, as `below` and `above` say."""

    low: float
    high: float
    below: Tail
    above: Tail

    def holds(self, numbers: FloatArray) -> NDArray[np.bool_]:
        return np.isfinite(numbers) & (self.low <= numbers) & (numbers <= self.high)

    def excess(self, numbers: FloatArray) -> FloatArray:
        """What each costs more for being beyond, in nats, shape (n,); 0 for numbers in the range, and for NaN.

        >>> within = NumberRange(0.0, 10.0, Tail(1.0, 0.5), Tail(5.0, 0.5))
        >>> within.excess(np.array([5.0, 10.0, 20.0, -10.0, np.inf])).round(2)
        array([ 0.  ,  0.  ,  1.38,  3.5 , 16.12])
        """
        # Two finite numbers may differ by more than a float can hold.
        with np.errstate(over="ignore"):
            under, over = (np.nan_to_num(far.clip(min=0), nan=0.0) for far in (self.low - numbers, numbers - self.high))
        return np.where(under > 0, self.below.excess(under), self.above.excess(over))

    def notes(self, numbers: FloatArray, ends: tuple[str, str]) -> list[str]:
        """For each number beyond the range the words for the end it is beyond; for all others nothing.

        >>> NumberRange(0.0, 10.0, Tail(1.0, 0.5), Tail(1.0, 0.5)).notes(np.array([-5.0, 5.0]), ("least seen 0", "..."))
        ['least seen 0', '']
        """
        texts = np.array(["", *ends], dtype=object)
        notes: list[str] = texts[np.where(numbers < self.low, 1, np.where(numbers > self.high, 2, 0))].tolist()
        return notes

    def to_state(self) -> dict[str, Any]:
        tails = {name: [tail.scale, tail.shape] for name, tail in (("below", self.below), ("above", self.above))}
        return {"low": self.low, "high": self.high, **tails}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> NumberRange:
        """The range that `to_state` described; `is_sound` says whether it can be one."""
        return cls(state["low"], state["high"], Tail(*state["below"]), Tail(*state["above"]))

    def is_sound(self) -> bool:
        numbers = all(type(end) is float and math.isfinite(end) for end in (self.low, self.high))
        return numbers and self.low <= self.high and self.below.is_sound() and self.above.is_sound()


def learned_range(values: FloatArray, counts: NDArray[np.int64], low: float, high: float) -> NumberRange:
    """From the smallest number, `low`, to the largest, and the tails of these distinct numbers, which are in order."""
    above = fitted_tail(values, counts, high)
    below = fitted_tail(-values[::-1], counts[::-1], -low)
    return NumberRange(low, high, below, above)


def fitted_tail(values: FloatArray, counts: NDArray[np.int64], largest: float) -> Tail:
    """The tail beyond the largest of these numbers: by the means of how far the outer tenth is out, and of its ranks.

    Numbers that are all the same have none: there the distance is relative to the number. Numbers with gaps between
    them, as whole ones have, thin out no faster than by the mean gap.

    >>> even, heavy = np.linspace(0, 100, 1001), 1 / np.linspace(1, 0.001, 1000)
    >>> [round(fitted_tail(one, np.ones(len(one), int), one[-1]).shape, 2) for one in (even, heavy)]
    [0.03, 0.69]
    """
    if len(values) < 2:
        return Tail(abs(largest) or 1.0, 1.0)
    # From -1 to 1, for the difference of two finite numbers may be infinite, and so may a sum.
    unit = max(abs(values[0]), abs(largest))
    places = values / unit
    gap = (places[-1] - places[0]) / (len(places) - 1)
    start = places[np.searchsorted(counts.cumsum(), (1 - _TAIL) * counts.sum())]
    outer = places > start
    distance, n = places[outer] - start, counts[outer]
    shape = tail_shape(distance, n)
    mean = float(distance @ n / n.sum()) if len(n) else 0.0
    scale = mean * (1 - shape) + shape * (largest / unit - start)
    return Tail(float(np.clip(max(scale, gap), 1e-300, 1) * unit) or 1e-300, shape)


def tail_shape(distance: FloatArray, counts: NDArray[np.int64]) -> float:
    """The shape of a generalised Pareto distribution with these values, in order, by probability-weighted moments."""
    n = int(counts.sum())
    found = -1.0  # as if all were equally far out
    if n > 1:
        upto = counts.cumsum()
        share_above = 1 - (upto - counts / 2) / n  # the mean over rows that hold the same value
        mean, weighted = float(distance @ counts) / n, float((distance * share_above) @ counts) / n
        if mean > 2 * weighted * (1 + 1e-9):
            found = 2 - mean / (mean - 2 * weighted)
    shape = (n * found + _USUAL_WEIGHT * USUAL_SHAPE) / (n + _USUAL_WEIGHT)
    return float(np.clip(shape, _LIGHTEST, _HEAVIEST))
