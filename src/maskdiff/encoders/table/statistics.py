"""What is learned about a column, one batch of normal rows at a time; every row is seen once.

Categories are counted exactly up to `DISTINCT_LIMIT` different ones; beyond it the rarest so far are forgotten, all but
their number. Of numbers the distinct values are kept with their counts up to the same limit; beyond it the rows are
thinned, each kept with the same probability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.cells import TICK_TEXT
from maskdiff.encoders.table.column_types import ORDERED, READINGS, Key
from maskdiff.encoders.table.columns import Column
from maskdiff.errors import ColumnError, ColumnTypeError

DISTINCT_LIMIT = 1_000_000
# With fewer rows than this, values that all differ are no sign of a row id.
FEWEST_IDS = 20
# A key that is not in order still fills its range: fewer than this many numbers for each row.
LOOSEST_KEY = 10
# How a column is read: as its type says, or as it was asked for, where its values allow.
FAMILIES: dict[str | None, Callable[[str], str]] = {
    None: lambda family: family,
    "category": lambda family: "text",
    "number": lambda family: family if family in ("integer", "number") else "number",
    "date": lambda family: family if family in TICK_TEXT else "moment",
}


@dataclass
class NumberSample:
    """Distinct numbers in order, and how many of the rows seen held each; of all rows, `share` are in the sample."""

    generator: np.random.Generator
    limit: int = DISTINCT_LIMIT
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    share: float = 1.0

    def add(self, numbers: FloatArray) -> None:
        values, counts = np.unique(numbers, return_counts=True)
        counts = self.generator.binomial(counts, self.share) if self.share < 1 else counts
        self._merge(values, counts)
        while len(self.values) > self.limit:
            self.counts = self.generator.binomial(self.counts, 0.5)
            self.share /= 2
            self._keep(self.counts > 0)

    def _merge(self, values: FloatArray, counts: NDArray[np.int64]) -> None:
        self.values, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(place, weights=both, minlength=len(self.values)).astype(np.int64)
        self._keep(self.counts > 0)

    def _keep(self, chosen: NDArray[np.bool_]) -> None:
        self.values, self.counts = self.values[chosen], self.counts[chosen]


@dataclass
class KeyWatch:
    """Whether integers, in row order, look like a key: strictly rising or falling, or all different and dense.

    Compared as integers, for two huge ones may be the same float. All values of one batch are compared, and with those
    of the batches before it, of which up to `limit` are kept.
    """

    limit: int = DISTINCT_LIMIT
    rising: bool = True
    falling: bool = True
    distinct: bool = True
    seen: int = 0
    bounds: tuple[int, ...] = ()
    last: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int64))
    values: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, integers: NDArray[Any]) -> None:
        line = np.concatenate([self.last, integers])
        self.rising &= bool((line[:-1] < line[1:]).all())
        self.falling &= bool((line[:-1] > line[1:]).all())
        self._compare(np.concatenate([self.values, integers]))
        ends = (*self.bounds, int(integers.min()), int(integers.max()))
        self.bounds, self.last = (min(ends), max(ends)), integers[-1:]
        self.seen += len(integers)

    def _compare(self, together: NDArray[Any]) -> None:
        if self.distinct:  # most integers are seen twice in the first batch, and that is the end of it
            values = np.unique(together)
            self.distinct = len(values) == len(together)
            self.values = values if len(values) <= self.limit or not self.seen else self.values

    @property
    def is_key(self) -> bool:
        if self.seen < FEWEST_IDS:
            return False
        dense = self.bounds[1] - self.bounds[0] < LOOSEST_KEY * self.seen
        return self.rising or self.falling or (self.distinct and dense)


class ColumnStatistics:
    """All that is learned about one column; `asked` is how the user wants it read, None to go by its type."""

    def __init__(self, name: str, asked: str | None, *, discrete_up_to: int, seed: int) -> None:
        self.name = name
        self.asked = asked
        self.discrete_up_to = discrete_up_to
        self.rows = self.missing = self.infinite = 0
        self.family: str | None = None
        self.levels: Counter[Key] | None = Counter()  # None: numbers with too many values to be categories
        self.forgotten: Counter[int] = Counter()  # how many categories were forgotten after so many rows
        self.sample = NumberSample(np.random.default_rng([seed, crc32(name.encode())]))
        self.range = (np.inf, -np.inf)
        self.key = KeyWatch()

    def add(self, column: Column) -> None:
        """One more batch."""
        self.rows += len(column.array)
        self.missing += column.array.null_count
        if column.is_empty:
            return
        self.family = self._merged(FAMILIES[self.asked](column.family))
        if self.family in ORDERED:
            self._measure(column)
        if self.levels is not None:
            self._count(column, self.levels)
        if self.family == "integer" and self.asked is None and not self.infinite:
            self.key.add(integers_of(column))

    def _merged(self, family: str) -> str:
        if self.family in (None, family):
            return family
        if {self.family, family} == {"integer", "number"}:
            return "number"
        raise ColumnTypeError(
            f"column {self.name!r} held {self.family} values in one batch and {family} values in the next. "
            f'Say how to read it: columns={{{self.name!r}: "category"}}.'
        )

    def _measure(self, column: Column) -> None:
        numbers = ORDERED[str(self.family)].numbers(column)
        self._check_readable(column, np.isnan(numbers) & ~column.missing)
        self.infinite += int(np.isinf(numbers).sum())
        finite = numbers[np.isfinite(numbers)]
        self.sample.add(finite)
        self.range = (finite.min(initial=self.range[0]), finite.max(initial=self.range[1]))
        if len(self.sample.values) > self.discrete_up_to:
            self.levels = None

    def _check_readable(self, column: Column, unreadable: NDArray[np.bool_]) -> None:
        if not unreadable.any():
            return
        example = column.array[int(unreadable.argmax())].as_py()
        raise ColumnTypeError(
            f"column {self.name!r} was to be read as {ORDERED[str(self.family)].kind}, but {unreadable.sum()} of its "
            f'values cannot be, {example!r} for one. Make them missing, or read it as it is: "category".'
        )

    def _count(self, column: Column, levels: Counter[Key]) -> None:
        values, index = column.distinct()
        counts = np.bincount(index[index >= 0], minlength=len(values))
        keys = READINGS[str(self.family)].keys(column, values)
        for key, count in zip(keys, counts.tolist(), strict=True):
            if count and key is not None:
                levels[key] += count
        if self.family in ORDERED and len(levels) > self.discrete_up_to:
            self.levels = None
        elif len(levels) > DISTINCT_LIMIT:
            self._forget(levels)

    def _forget(self, levels: Counter[Key]) -> None:
        """Half of the limit is enough to know the frequent ones, and a row id needs not be held in memory."""
        by_count = np.sort(np.fromiter(levels.values(), np.int64, len(levels)))
        most = int(by_count[-(DISTINCT_LIMIT // 2) - 1])
        for key in [key for key, count in levels.items() if count <= most]:
            self.forgotten[levels.pop(key)] += 1

    @property
    def n_categories(self) -> int:
        """How many different categories there were; one that came back after it was forgotten counts again."""
        return len(self.levels or ()) + self.forgotten.total()

    def left_out(self) -> str | None:
        """Why this column says nothing about a row, None if it does."""
        present = self.rows - self.missing
        if self.asked is not None:
            return None
        if not present:
            return "all values are missing"
        if self.family == "text" and self.n_categories == present >= FEWEST_IDS:
            return "a row id: all its values are different"
        if self.family == "integer" and self.key.is_key:
            return "a row id: a key of integers that are all different"
        return None

    def check_finite(self) -> None:
        if self.infinite:
            raise ColumnError(
                f"column {self.name!r} holds {self.infinite} infinite value{'s' * (self.infinite > 1)}. Make them "
                f'missing, drop those rows, or say how to read it: columns={{{self.name!r}: "category"}} or "drop".'
            )


def integers_of(column: Column) -> NDArray[Any]:
    """The integers that are there, in row order, as 64-bit integers where they fit."""
    if not pat.is_integer(column.array.type):
        values, index = column.distinct()
        return np.array(ORDERED["integer"].keys(column, values), dtype=object)[index[index >= 0]]
    present: NDArray[Any] = column.array.drop_null().to_numpy(zero_copy_only=False)
    return present.astype(object if present.max() > np.iinfo(np.int64).max else np.int64)
