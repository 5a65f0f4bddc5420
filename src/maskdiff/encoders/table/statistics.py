"""What is learned about the columns of normal rows; every row is seen once, in batches.

Statistics of different rows merge: `a.merge(b)` knows what one pass over the rows of a and then those of b would.
Up to `max_distinct` different values of a column this is exact. Beyond it, the rarest categories so far are forgotten,
all but their number, so a category may be counted as several; of numbers, rows are thinned, each kept with the same
probability; and of keys a random part of the values is watched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.column_types import CATEGORY, ColumnType, DateType, Key, NumericType
from maskdiff.encoders.table.column_types.base import Found
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.input import Header, Table, column_of, listed
from maskdiff.encoders.table.key_watch import KeyWatch
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.encoders.table.number_sample import NumberSample
from maskdiff.encoders.table.recognition import typed
from maskdiff.errors import ColumnError, ColumnTypeError, UnknownColumnError

if TYPE_CHECKING:
    from maskdiff.encoders.table.derived_statistics import DerivedStatistics

# So many different values of a column are watched; their shares are then known to a few parts in a thousand.
_MOST_WATCHED = 1 << 17


class ColumnStatistics:
    """All that is learned about one column. `requested` is the type the user named, None to go by the cells."""

    def __init__(
        self, name: str, requested: ColumnType | None, *, discrete_up_to: int, max_distinct: int, seed: int
    ) -> None:
        self.name = name
        self.requested = requested
        self.discrete_up_to = discrete_up_to
        self.max_distinct = max_distinct
        self.rows = self.missing = self.infinite = 0
        self.found: ColumnType | None = None
        self.levels: Counter[Key] | None = Counter()  # None: numbers with too many values to be categories
        self.marks: Counter[str] = Counter()  # texts among numbers that are values of their own
        self.damaged = 0  # texts among numbers that cannot be read
        self.forgotten: Counter[int] = Counter()  # number of rows -> how many categories with so many were forgotten
        self.sample = NumberSample(np.random.default_rng([seed, crc32(name.encode())]), max_distinct)
        self.range = (np.inf, -np.inf)
        self.key = KeyWatch(_MOST_WATCHED)

    @property
    def present(self) -> int:
        """How many cells are not missing."""
        return self.rows - self.missing

    @property
    def type(self) -> ColumnType:
        """The type the column is read as."""
        return self.found or (self.requested or CATEGORY).refined(CATEGORY)

    @property
    def n_categories(self) -> int:
        """How many different categories there were; one that came back after it was forgotten counts again."""
        return len(self.levels or ()) + self.forgotten.total()

    def add(self, column: Column) -> None:
        """One more batch."""
        self.rows += len(column.array)
        self.missing += int(column.missing.sum())
        if column.mark is not None:
            *marks, damaged = np.bincount(column.mark[column.mark >= 0], minlength=len(column.type.marks) + 1).tolist()
            self.marks.update(dict(zip(column.type.marks, marks, strict=True)))
            self.damaged += damaged
        if column.is_empty:
            return
        self.found = self._together(column.type if self.requested is None else self.requested.refined(column.type))
        if isinstance(self.found, NumericType):
            self._measure(column, self.found)
        if self.levels is not None:
            self._count(column, self.found, self.levels)
        self._watch(column, learned=True)

    def watch(self, column: Column) -> None:
        """A batch of rows that are not learned from: only how often values repeat is taken from them."""
        if not column.is_empty and (self.found is None or self.found.name == column.type.name):
            self._watch(column, learned=False)

    def _watch(self, column: Column, *, learned: bool) -> None:
        column_type = self.found or column.type
        if column_type.may_be_key and self.requested is None and not self.infinite:
            self.key.add(*column_type.watched(column), learned=learned)

    def merge(self, other: ColumnStatistics) -> None:
        """What was learned from rows that follow these."""
        self.rows += other.rows
        self.missing += other.missing
        self.marks += other.marks
        self.damaged += other.damaged
        if other.found is None:
            return
        self.found = self._together(other.found)
        self.infinite += other.infinite
        self.sample.merge(other.sample)
        self.range = (min(self.range[0], other.range[0]), max(self.range[1], other.range[1]))
        self.key.merge(other.key)
        self.forgotten += other.forgotten
        self.levels = None if self.levels is None or other.levels is None else self.levels + other.levels
        self._limit_levels()

    def _together(self, found: ColumnType) -> ColumnType:
        both = found if self.found is None else self.found.together(found)
        if both is None:
            raise ColumnTypeError(
                f"column {self.name!r} held {self.type.name} values in one batch and {found.name} values in the next. "
                f'Say how to read it: columns={{{self.name!r}: "category"}}.',
                setting="columns",
            )
        return both

    def _measure(self, column: Column, column_type: NumericType) -> None:
        numbers = column_type.numbers(column)
        self._check_readable(
            column, column_type, np.isnan(numbers) & column.array.is_valid().to_numpy(zero_copy_only=False)
        )
        self.infinite += int(np.isinf(numbers).sum())
        finite = numbers[np.isfinite(numbers)]
        self.sample.add(finite)
        self.range = (finite.min(initial=self.range[0]), finite.max(initial=self.range[1]))
        self._limit_levels()

    def _count(self, column: Column, column_type: ColumnType, levels: Counter[Key]) -> None:
        values, index = column.distinct()
        counts = np.bincount(index[index >= 0], minlength=len(values))
        keys = column_type.keys(column, values)
        self._check_readable(column, column_type, np.array([*(key is None for key in keys), False])[index])
        for key, count in zip(keys, counts.tolist(), strict=True):
            if count and key is not None:
                levels[key] += count
        self._limit_levels()

    def _check_readable(self, column: Column, column_type: ColumnType, unreadable: NDArray[np.bool_]) -> None:
        if not unreadable.any():
            return
        example = column.array[int(unreadable.argmax())].as_py()
        raise ColumnTypeError(
            f"column {self.name!r} was to be read as {column_type.general}, but {unreadable.sum()} of its values "
            f'cannot be, {example!r} for one. Make them missing, or read it as it is: "category".',
            setting="columns",
        )

    def _limit_levels(self) -> None:
        """Numbers with more than a few values are no categories; of too many categories the rarest are forgotten."""
        if self.levels is None:
            return
        if isinstance(self.found, NumericType):
            few = max(len(self.sample.values), len(self.levels)) <= self.discrete_up_to
            if not (few and self.found.has_levels):
                self.levels = None
        elif len(self.levels) > self.max_distinct:
            self._forget(self.levels)

    def _forget(self, levels: Counter[Key]) -> None:
        """Half of the limit is enough to know the frequent ones, and a row id need not be held in memory."""
        by_count = np.sort(np.fromiter(levels.values(), np.int64, len(levels)))
        most = int(by_count[-(self.max_distinct // 2) - 1])
        for key in [key for key, count in levels.items() if count <= most]:
            self.forgotten[levels.pop(key)] += 1

    def left_out(self) -> str | None:
        """Why this column says nothing about a row, None if it does."""
        if self.requested is not None:
            return None
        return self.type.row_id(self) if self.present else "all values are missing"

    @property
    def is_near_id(self) -> bool:
        """Whether only the values that repeat are distinguished."""
        return self.requested is None and self.type.is_near_id(self)

    def repeated(self) -> Counter[Key]:
        """The values of a near-id, with their numbers of rows."""
        if self.levels is not None:
            return self.levels
        here = self.key.learned > 0
        return Counter(dict(zip(self.key.values[here].tolist(), self.key.learned[here].tolist(), strict=True)))

    def check_finite(self) -> None:
        if self.infinite:
            raise ColumnError(
                f"column {self.name!r} holds {self.infinite} infinite value{'s' * (self.infinite > 1)}. Make them "
                f'missing, drop those rows, or say how to read it: columns={{{self.name!r}: "category"}} or "drop".',
                setting="columns",
            )


class TableStatistics:
    """All that is learned about the columns of a table, but for those in `dropped`.

    `requested` are the types the user named, name -> type, `text_types` what columns of texts stand for, `missing`
    which texts are missing values; `derived` learns about fields that are computed from dates, None for no such fields;
    `limits` are the settings of `ColumnStatistics`.
    """

    def __init__(
        self,
        requested: Mapping[str, ColumnType],
        dropped: Collection[str],
        text_types: Mapping[str, Found] | None = None,
        missing: MissingTexts | None = None,
        derived: DerivedStatistics | None = None,
        **limits: int,
    ) -> None:
        self.requested = requested
        self.dropped = dropped
        self.text_types = text_types or {}
        self.missing = missing or MissingTexts()
        self.derived = derived
        self.limits: dict[str, Any] = limits
        self.rows = 0
        self.header: Header | None = None
        self.columns: dict[str, ColumnStatistics] = {}

    def add(self, table: Table) -> None:
        """One more batch; its columns have to be those of the first one."""
        header = self.header or self._begin(Header.of(table))
        places = header.places(table, self.columns, [*self.requested, *self.dropped])
        moments: dict[str, FloatArray] = {}
        for name, place in places.items():
            column, learned = self._typed(column_of(table, place, name)), self.columns[name]
            learned.add(column)
            if isinstance(learned.found, DateType) and not column.is_empty:
                moments[name] = learned.found.numbers(column)
        if self.derived is not None:
            self.derived.add(moments)
        self.rows += table.n_rows

    def watch(self, table: Table) -> None:
        """Rows that are not learned from, and only help to find row ids; rows to learn from come first."""
        if self.header is None:
            self.header = self._begin(Header.of(table))
        places = self.header.places(table, self.columns, [*self.requested, *self.dropped])
        for name, place in places.items():
            self.columns[name].watch(self._typed(column_of(table, place, name)))

    def numbers(self, table: Table, names: Collection[str]) -> Iterator[tuple[str, FloatArray]]:
        """These columns of a table, which were learned to hold numbers; NaN where a cell holds none."""
        assert self.header is not None
        places = self.header.places(table, self.columns, [*self.requested, *self.dropped])
        for name in names:
            column, column_type = self._typed(column_of(table, places[name], name)), self.columns[name].type
            assert isinstance(column_type, NumericType)
            yield name, np.full(table.n_rows, np.nan) if column.is_empty else column_type.numbers(column)

    def _typed(self, column: Column) -> Column:
        column, found = self.missing.applied(column), self.text_types.get(column.name)
        return column if found is None else typed(column, found.column_type)

    def doubts(self) -> dict[str, Found]:
        """Columns that could have been read otherwise."""
        return {name: found for name, found in self.text_types.items() if found.doubt and name in self.columns}

    def merge(self, other: TableStatistics) -> None:
        """What was learned from rows that follow these."""
        if other.header is None:
            return
        if self.header is None:
            self._begin(other.header)
        if set(self.columns) != set(other.columns):
            raise UnknownColumnError(
                f"statistics of different columns cannot be merged: {listed(self.columns)}; {listed(other.columns)}."
            )
        for name, learned in other.columns.items():
            self.columns[name].merge(learned)
        if self.derived is not None and other.derived is not None:
            self.derived.merge(other.derived)
        self.rows += other.rows

    def _begin(self, header: Header) -> Header:
        unknown = [name for name in self.requested if name not in header.names]
        if unknown:
            raise UnknownColumnError(
                f"columns= says how to read {listed(unknown)}, but the table has only {listed(header.names)}."
            )
        kept = [name for name in header.names if name not in self.dropped]
        self.columns = {name: ColumnStatistics(name, self.requested.get(name), **self.limits) for name in kept}
        self.header = header
        return header
