"""Numbers of any width and form, and integers, which may be keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import floats, is_text
from maskdiff.encoders.table.cells import as_number, parse_number
from maskdiff.encoders.table.column_types.base import ColumnType, Key, NumericType, TextFit, first_distinct, type_error
from maskdiff.encoders.table.column_types.number_fit import NumberFit
from maskdiff.encoders.table.keys import fills_range, is_assigned, is_id, is_near_id, near_row_id, nearly_all, repeats
from maskdiff.encoders.table.number_format import NumberFormat
from maskdiff.errors import ModelFileError

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column
    from maskdiff.encoders.table.statistics import ColumnStatistics

# How a number is read from a cell of each arrow type; types that are not here hold no numbers.
CELL_NUMBERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], int | float | None]], ...] = (
    (pat.is_boolean, int),
    (pat.is_integer, int),
    (pat.is_floating, as_number),
    (pat.is_decimal, as_number),
)


class NumberType(NumericType):
    """Numbers of any type, and texts that stand for numbers."""

    name = "number"
    plural = "numbers"
    is_decimal = True
    python_types: tuple[type, ...] = (Real, Decimal)

    def __init__(self, format: NumberFormat | None = None, example: str | None = None) -> None:
        self.format, self.example = format or NumberFormat(), example

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_floating(arrow_type) or pat.is_decimal(arrow_type))

    def text_fit(self) -> TextFit | None:
        return NumberFit(self)

    def written(self, format: NumberFormat, whole: bool, example: str | None) -> NumberType:
        """The type of numbers that are written so."""
        if example is not None:
            number = format.canonical(pa.array([example], pa.large_string()))[0].as_py()
            example = f"{example} -> {number}"
        return (IntegerType if whole else NumberType)(format, example)

    def options(self) -> dict[str, Any]:
        written = {"format": self.format.to_state(), "example": self.example}
        return super().options() | (written if self.format != NumberFormat() else {})

    def with_options(self, options: Any) -> ColumnType:
        if not isinstance(options, dict) or not {"format", "example"} & set(options):
            return super().with_options(options)
        others = dict(options)
        example = others.pop("example", 0)
        if not isinstance(example, str | None):
            raise ModelFileError("the model file is damaged: an example of how numbers are written is no text.")
        return type(self)(NumberFormat.from_state(others.pop("format", None)), example).with_options(others)

    def from_texts(self, texts: pa.Array) -> pa.Array:
        return self.format.canonical(texts).cast(pa.float64())

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        if is_text(values.type):
            return self._keys_of_texts(values)
        read = next((read for fits, read in CELL_NUMBERS if fits(values.type)), None)
        if read is None:
            raise type_error(column, self, values.type)
        return [read(value) for value in values.to_pylist()]

    def numbers(self, column: Column) -> FloatArray:
        arrow_type = column.array.type
        if pat.is_decimal(arrow_type):  # arrow's direct way is not rounded as Python's is
            return floats(column.array.cast(pa.large_string()).cast(pa.float64()))
        if pat.is_integer(arrow_type) or pat.is_floating(arrow_type) or pat.is_boolean(arrow_type):
            return floats(column.array.cast(pa.float64(), safe=False))
        return self._numbers_of_texts(column.array) if is_text(arrow_type) else super().numbers(column)

    def _numbers_of_texts(self, texts: pa.Array) -> FloatArray:
        """Read as the column's texts are written; the few that are not, one by one."""
        written = self.format.canonical(texts)
        numbers = floats(written.cast(pa.float64()))
        others = np.flatnonzero(pc.and_(written.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False))
        if len(others):
            distinct = texts.take(pa.array(others)).dictionary_encode()
            read = [parse_number(text) for text in distinct.dictionary.to_pylist()]
            found = np.array([np.nan if number is None else float(number) for number in read])
            numbers = numbers.copy()
            numbers[others] = found[distinct.indices.to_numpy(zero_copy_only=False)]
        return numbers

    def _keys_of_texts(self, texts: pa.Array) -> list[Key | None]:
        return [parse_number(text) for text in pc.coalesce(self.format.canonical(texts), texts).to_pylist()]

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return number_texts(keys, fewest_digits=6)

    def cell_text(self, key: Any) -> str:
        return str(key).replace(".", self.format.decimal)

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        return number_texts(numbers, fewest_digits=4)


class IntegerType(NumberType):
    """Whole numbers. Where they count the rows they are a key, and say nothing about them."""

    name = "integer"
    general = "number"
    widens_to = "number"
    python_types = (Integral,)
    may_be_key = True

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_integer(arrow_type))

    def text_fit(self) -> TextFit | None:
        return None  # numbers see whether they are all whole

    def from_texts(self, texts: pa.Array) -> pa.Array:
        return self.format.canonical(texts).cast(pa.int64())

    def row_id(self, learned: ColumnStatistics) -> str | None:
        watch = learned.key
        if learned.infinite:
            return None
        if is_id(watch) and (fills_range(watch) or is_assigned(learned.name, watch)):
            return f"a row id: integers that are {nearly_all(watch)} different"
        return near_row_id(watch) if self.is_near_id(learned) and not repeats(watch) else None

    def is_near_id(self, learned: ColumnStatistics) -> bool:
        return is_near_id(learned.key) and is_assigned(learned.name, learned.key)

    def watched(self, column: Column) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if pat.is_integer(column.array.type):
            present = column.array.drop_null().to_numpy(zero_copy_only=False)
            whole = present.astype(object if present.max() > np.iinfo(np.int64).max else np.int64)
        else:  # as integers, since two huge ones may be the same float
            values, index = column.distinct()
            keys = np.array([*self.keys(column, values), None], dtype=object)[index]
            whole = np.array([key for key in keys if type(key) is int], dtype=object)
        values, counts = np.unique(whole, return_counts=True)
        return values, counts


def number_texts(numbers: Sequence[int | float], fewest_digits: int) -> list[str]:
    """With as few digits as keep the numbers apart."""
    return first_distinct(numbers, ([number_text(n, digits) for n in numbers] for digits in range(fewest_digits, 18)))


def number_text(number: int | float, digits: int) -> str:
    """
    >>> number_text(12345678, 6), number_text(0.30000000000000004, 6), number_text(12345678.9, 6)
    ('12345678', '0.3', '12345679')
    """
    number = as_number(number)
    text = str(number) if isinstance(number, int) else f"{number:.{digits}g}"
    return f"{number:.0f}" if "e" in text and 1 <= abs(number) < 1e15 else text
