"""KeyWatch: whether the integers of a column only number the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.encoders.table.column_types.categories import FEWEST_IDS

# A key that is not in order still fills its range: fewer than this many numbers for each row.
LOOSEST_KEY = 10


def _none() -> NDArray[Any]:
    return np.empty(0, np.int64)


@dataclass
class KeyWatch:
    """Whether integers, in row order, look like a key: strictly rising or falling, or all different and dense.

    Compared as integers, since two huge ones may be the same float. All values of one batch are compared, and with
    those of the batches before it, of which up to `limit` are kept: beyond it, a repeated value may be missed, and
    `distinct` may be True by mistake but never False.
    """

    limit: int
    rising: bool = True
    falling: bool = True
    distinct: bool = True
    seen: int = 0
    bounds: tuple[int, ...] = ()
    first: NDArray[Any] = field(default_factory=_none)
    last: NDArray[Any] = field(default_factory=_none)
    values: NDArray[Any] = field(default_factory=_none)

    def add(self, integers: NDArray[Any]) -> None:
        """The integers of one more batch, at least one."""
        rising, falling = bool((integers[:-1] < integers[1:]).all()), bool((integers[:-1] > integers[1:]).all())
        bounds = (int(integers.min()), int(integers.max()))
        self._follow(rising, falling, integers[:1], integers[-1:], bounds)
        self._compare(integers)
        self.seen += len(integers)

    def merge(self, other: KeyWatch) -> None:
        """The integers of another watch, which follow those seen here."""
        if not other.seen:
            return
        self._follow(other.rising, other.falling, other.first, other.last, other.bounds)
        self.distinct &= other.distinct
        self._compare(other.values)
        self.seen += other.seen

    def _follow(
        self, rising: bool, falling: bool, first: NDArray[Any], last: NDArray[Any], bounds: tuple[int, ...]
    ) -> None:
        self.rising &= rising and bool((self.last < first).all())
        self.falling &= falling and bool((self.last > first).all())
        ends = (*self.bounds, *bounds)
        self.bounds = (min(ends), max(ends))
        self.first, self.last = self.first if self.seen else first, last

    def _compare(self, integers: NDArray[Any]) -> None:
        if self.distinct:  # most columns hold some integer twice in the first batch, and need no further look
            together = np.concatenate([self.values, integers])
            values = np.unique(together)
            self.distinct = len(values) == len(together)
            self.values = values if len(values) <= self.limit or not self.seen else self.values

    @property
    def is_key(self) -> bool:
        if self.seen < FEWEST_IDS:
            return False
        dense = self.bounds[1] - self.bounds[0] < LOOSEST_KEY * self.seen
        return self.rising or self.falling or (self.distinct and dense)
