"""What a column of texts stands for, decided over all its rows, whatever they came in: CSV, Parquet or a DataFrame.

Each column type says which texts are its own (`ColumnType.text_fit`); the most special one that all texts fit is taken,
else they are categories. Recognition sees the rows in batches and merges like statistics do. Columns of a declared
type, dates, categoricals, are what they declare, and numbers too, unless they stand for dates as texts would: 20240925.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskdiff.encoders.table.arrays import canonical_texts, is_text
from maskdiff.encoders.table.column_types import CATEGORY, ColumnType, NumericType, most_special_first
from maskdiff.encoders.table.column_types.base import Found, TextFit
from maskdiff.encoders.table.column_types.date_order import choose_orders, without_other_order
from maskdiff.encoders.table.column_types.numbers import NumberType
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.input import Table, column_of, read_table
from maskdiff.encoders.table.missing import MissingTexts

# So many cells of a declared type are looked at first.
_FIRST_LOOK = 100


class TextRecognition:
    """The types one column of texts may still have; `requested` is the one the user named, None to go by the texts.

    With `numbers` these are only the types that numbers of a declared type may stand for.
    """

    def __init__(
        self,
        name: str = "",
        requested: ColumnType | None = None,
        *,
        day_first: bool | None = None,
        numbers: bool = False,
        free_text: bool = True,
    ) -> None:
        types = (one for one in most_special_first() if one.reads_numbers or not numbers)
        types = (one for one in types if free_text or not one.is_free_text)
        possible = (
            one for one in types if (one.fits_name(name) if requested is None else one.general == requested.name)
        )
        ordered = without_other_order(tuple(possible), day_first)
        self.fits = [fit for one in ordered if (fit := one.text_fit()) is not None]
        self.seen = False

    def add(self, texts: pa.Array) -> None:
        """One more batch of cells, null where missing."""
        if self.settled or texts.null_count == len(texts):
            return
        counted = texts.drop_null().value_counts()
        values, counts = counted.field("values"), counted.field("counts").to_numpy(zero_copy_only=False)
        for fit in self._alive:
            fit.add(values, counts)
        self.seen = True

    def add_numbers(self, numbers: pa.Array) -> None:
        """One more batch of cells of a declared type. Some settle it for most columns, and are quickly looked at."""
        for part in (numbers[:_FIRST_LOOK], numbers[_FIRST_LOOK:]):
            if not self.settled:
                self.add(number_texts(part))

    def merge(self, other: TextRecognition) -> None:
        """What was found in rows that follow these."""
        self.seen |= other.seen
        for fit, theirs in zip(self.fits, other.fits, strict=True):
            fit.merge(theirs)

    @property
    def _alive(self) -> list[TextFit]:
        return [fit for fit in self.fits if fit.alive]

    @property
    def settled(self) -> bool:
        """Whether no further batch can change the answer: categories."""
        return not self._alive

    @property
    def proven_decimal(self) -> str | None:
        return next((sign for fit in self._alive if (sign := fit.proven_decimal)), None)

    def found(self, decimal: str | None = None) -> list[Found]:
        """The types that all batches fit, the most special first; the last is that of categories."""
        answers = [fit.found(decimal) for fit in self._alive] if self.seen else []
        return [*(answer for answer in answers if answer is not None), Found(CATEGORY)]


class TableRecognition:
    """What the columns of texts of a table stand for, and those of numbers, but for the columns in `dropped`."""

    def __init__(
        self,
        requested: Mapping[str, ColumnType],
        dropped: Collection[str] = (),
        missing: MissingTexts | None = None,
        decimal: str | None = None,
        day_first: bool | None = None,
        free_text: bool = True,
    ) -> None:
        self.requested, self.dropped, self.decimal = requested, dropped, decimal
        self.limits: dict[str, Any] = {"day_first": day_first, "free_text": free_text}
        self.missing = missing or MissingTexts()
        self.columns: dict[str, TextRecognition] = {}
        self.numbers: dict[str, TextRecognition] = {}
        self.rows = 0

    def add(self, table: Table) -> None:
        """One more batch."""
        self.rows += table.n_rows
        for place, name in enumerate(table.names):
            if not self._is_settled(name):
                column = self.missing.applied(column_of(table, place, name))
                if is_recognisable(column):
                    self._of_texts(name).add(column.array)
                elif holds_numbers(column):
                    self._of_numbers(name).add_numbers(column.array)

    def merge(self, other: TableRecognition) -> None:
        """What was found in rows that follow these."""
        self.rows += other.rows
        for name, found in other.columns.items():
            self._of_texts(name).merge(found)
        for name, found in other.numbers.items():
            self._of_numbers(name).merge(found)

    def _of_texts(self, name: str) -> TextRecognition:
        if name not in self.columns:
            self.columns[name] = TextRecognition(name, self.requested.get(name), **self.limits)
        return self.columns[name]

    def _of_numbers(self, name: str) -> TextRecognition:
        if name not in self.numbers:
            self.numbers[name] = TextRecognition(name, self.requested.get(name), numbers=True)
        return self.numbers[name]

    def _is_settled(self, name: str) -> bool:
        requested = self.requested.get(name)
        stays = name in self.dropped or (requested is not None and not isinstance(requested, NumericType))
        return stays or (name in self.columns and self.columns[name].settled)

    @property
    def settled(self) -> bool:
        """Whether no further batch of the same columns can change the answer."""
        return all(one.settled for one in (*self.columns.values(), *self.numbers.values()))

    def found(self) -> dict[str, Found]:
        """What each column of texts stands for, and each of numbers that are more than numbers."""
        proven = {sign for one in self.columns.values() if (sign := one.proven_decimal)}
        decimal = self.decimal or (proven.pop() if len(proven) == 1 else None)
        fitting = {name: one.found(decimal) for name, one in self.columns.items()}
        chosen = choose_orders({name: tuple(one.column_type for one in types) for name, types in fitting.items()})
        taken = {name: next(one for one in types if one.column_type is chosen[name]) for name, types in fitting.items()}
        numbers = {name: one.found()[0] for name, one in self.numbers.items() if name not in taken}
        taken |= {name: one for name, one in numbers.items() if one.column_type is not CATEGORY}
        return {name: one.with_marks() for name, one in taken.items()}

    def typed(self, batch: pa.Table, found: Mapping[str, Found]) -> pa.Table:
        """A batch with its columns of texts as what they stand for; numbers with other texts among them stay texts."""
        table = read_table(batch)
        for place, name in enumerate(batch.column_names):
            if name in found and not found[name].column_type.marks and found[name].damaged is None:
                column = self.missing.applied(column_of(table, place, name))
                array = found[name].column_type.from_texts(column.array) if is_recognisable(column) else column.array
                batch = batch.set_column(place, name, array)
        return batch


def is_recognisable(column: Column) -> bool:
    """Whether a column holds texts whose meaning nobody declared."""
    return column.type is CATEGORY and is_text(column.array.type)


def holds_numbers(column: Column) -> bool:
    """Whether a column holds numbers that somebody declared to be numbers."""
    return isinstance(column.type, NumberType)


def written(column: Column, column_type: ColumnType) -> Column:
    """The column as texts, where its numbers stand for what the type reads: 20240925."""
    if not (column_type.reads_numbers and holds_numbers(column)):
        return column
    return replace(column, array=number_texts(column.array), type=CATEGORY)


def number_texts(numbers: pa.Array) -> pa.Array:
    """Numbers in plain digits, whatever type they are of."""
    if is_text(numbers.type):
        return numbers
    distinct = numbers.dictionary_encode()
    return pa.array(canonical_texts(distinct.dictionary), pa.large_string()).take(distinct.indices)


def typed(column: Column, column_type: ColumnType) -> Column:
    """A column to learn from, its cells as what they stand for."""
    column = written(column, column_type)
    if not is_recognisable(column) or column.is_empty:
        return column
    column = marked(column, column_type.marks)
    array: Any = column_type.from_texts(column.array)
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    damaged = pc.and_(column.array.is_valid(), array.is_null()).to_numpy(zero_copy_only=False)
    if damaged.any():
        none = np.full(len(damaged), -1) if column.mark is None else column.mark
        column = replace(column, mark=np.where(damaged, len(column_type.marks), none))
    return replace(column, array=array, type=column_type)


def marked(column: Column, marks: tuple[str, ...]) -> Column:
    """The column with the cells that are marks, such as "unknown" among numbers, apart from the others."""
    if not marks or not is_text(column.array.type):
        return column
    place = pc.index_in(pc.ascii_trim_whitespace(column.array), value_set=pa.array(marks, pa.large_string()))
    mark = place.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    array = pc.if_else(place.is_valid(), pa.scalar(None, column.array.type), column.array)
    return replace(column, array=array, mark=mark)
