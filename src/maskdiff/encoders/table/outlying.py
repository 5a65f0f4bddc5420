"""Numbers far outside of what their column holds, in a table nobody has cleaned: 3010 among years, -15306 among miles.

The outer 5% at each end of a column may be wrong, so they are judged by the others: a generalised Pareto tail is fitted
to the inner 90% and continued outwards. It is taken to be heavy, since columns such as prices thin out more and more
slowly. Where nearly all numbers have one sign, those of the other sign are judged by a tail that ends soon. The chance
to be at least as far out is a p-value, whatever a model says about the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.beyond import USUAL_SHAPE, Tail, fitted_tail
from maskdiff.encoders.table.column_types import NumericType
from maskdiff.encoders.table.input import Table
from maskdiff.encoders.table.statistics import ColumnStatistics, TableStatistics

# The share of the numbers at each end that does not say what is usual.
_OUTER = 0.05
# The same for numbers of another sign than nearly all others: the tail ends soon, for it ought to end at 0.
_OTHER_SIGN, _ENDING = 0.01, -0.2
# No tail is known so well that something is impossible.
_LEAST_CHANCE = 1e-12
# Columns with fewer different numbers have no tail.
_FEWEST_VALUES = 8


@dataclass(frozen=True)
class OuterEnd:
    """Numbers above `start` are outside: the share of rows that is beyond `inner`, and how these thin out."""

    start: float
    inner: float
    share: float
    tail: Tail

    @classmethod
    def of(cls, values: FloatArray, counts: NDArray[np.int64], outer: float) -> OuterEnd | None:
        """The upper end of these distinct numbers, which are in order, without an outer share; None if few are left."""
        upto = counts.cumsum()
        n_inner = int(np.searchsorted(upto, (1 - outer) * upto[-1], side="right")) if len(values) else 0
        if n_inner < _FEWEST_VALUES:
            return None
        inner, tail = float(values[n_inner - 1]), fitted_tail(values[:n_inner], counts[:n_inner], values[n_inner - 1])
        return cls(inner, inner, outer, replace(tail, shape=max(tail.shape, USUAL_SHAPE)))

    def of_other_sign(self) -> OuterEnd:
        """The same for numbers above 0 where the inner ones are not."""
        return replace(self, start=0.0, tail=replace(self.tail, shape=_ENDING))

    def p_values(self, numbers: FloatArray) -> FloatArray:
        """The share of usual numbers that are at least as far out, (n,); 1 for those that are not outside, and for NaN.

        >>> OuterEnd(10.0, 10.0, 0.05, Tail(1.0, 0.5)).p_values(np.array([9.0, 12.0, 1000.0])).round(6).tolist()
        [1.0, 0.0125, 0.0]
        """
        distance = np.nan_to_num(numbers - self.inner, nan=0.0)
        chance = np.maximum(self.share * np.exp(-self.tail.nats(np.maximum(distance, 0.0))), _LEAST_CHANCE)
        return np.where(np.nan_to_num(numbers, nan=-np.inf) > self.start, chance, 1.0)


@dataclass(frozen=True)
class OutlyingNumbers:
    """The ends of every column of numbers; lower ones are those of the negated numbers, by their sign -1."""

    ends: dict[str, list[tuple[int, OuterEnd]]]

    @classmethod
    def of(cls, statistics: TableStatistics) -> OutlyingNumbers:
        """From the statistics of all rows."""
        ends = {name: [*_ends(learned)] for name, learned in statistics.columns.items() if _has_tails(learned)}
        return cls({name: found for name, found in ends.items() if found})

    @property
    def n_ends(self) -> int:
        """How many ends there are to be beyond."""
        return sum(map(len, self.ends.values()))

    def p_values(self, table: Table, statistics: TableStatistics) -> FloatArray:
        """How likely a usual row has a number at least as far outside as each of these has, shape (n,)."""
        least = np.ones(table.n_rows)
        for name, numbers in statistics.numbers(table, self.ends):
            for sign, end in self.ends[name]:
                least = np.minimum(least, end.p_values(sign * numbers))
        return np.minimum(1.0, self.n_ends * least)


def _has_tails(learned: ColumnStatistics) -> bool:
    numeric = isinstance(learned.type, NumericType) and learned.type.has_tails
    return numeric and learned.left_out() is None and not learned.is_near_id


def _ends(learned: ColumnStatistics) -> Iterator[tuple[int, OuterEnd]]:
    values, counts = learned.sample.values, learned.sample.counts
    for sign, upward, n in ((-1, -values[::-1], counts[::-1]), (1, values, counts)):
        usual, nearly_all = (OuterEnd.of(upward, n, outer) for outer in (_OUTER, _OTHER_SIGN))
        if usual is not None:
            yield sign, usual
        if nearly_all is not None and nearly_all.inner <= 0:
            yield sign, nearly_all.of_other_sign()
