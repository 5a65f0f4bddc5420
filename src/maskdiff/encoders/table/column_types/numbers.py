"""Numbers of any width and form, and integers, which may be keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import floats, is_text
from maskdiff.encoders.table.cells import as_number, parse_number
from maskdiff.encoders.table.column_types.base import Key, NumericType, all_match, first_distinct, type_error

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column
    from maskdiff.encoders.table.statistics import ColumnStatistics

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
# Whole numbers below this are different floats.
EXACT = 2.0**53
# How a number is read from a cell of each arrow type; types that are not here hold no numbers.
CELL_NUMBERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], int | float | None]], ...] = (
    (is_text, parse_number),
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
    csv_pattern = NUMBER
    in_declared_texts = False

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_floating(arrow_type) or pat.is_decimal(arrow_type))

    def from_csv(self, texts: pa.Array) -> pa.Array:
        return pc.utf8_trim_whitespace(texts).cast(pa.float64())

    def quick_csv(self, texts: pa.Array) -> pa.Array:
        """The numbers these texts stand for, or the texts where one of them is no plain number."""
        if not all_match(texts, NUMBER):
            return texts
        try:
            return to_integers(texts)
        except pa.ArrowInvalid:
            numbers = pc.utf8_trim_whitespace(texts).cast(pa.float64())
        largest = pc.max(pc.abs(numbers)).as_py()
        return numbers if largest is None or largest < EXACT else texts

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
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
        return super().numbers(column)

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return number_texts(keys, fewest_digits=6)

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        return number_texts(numbers, fewest_digits=4)


class IntegerType(NumberType):
    """Whole numbers. Where they count the rows they are a key, and say nothing about them."""

    name = "integer"
    general = "number"
    widens_to = "number"
    python_types = (Integral,)
    csv_pattern = r"^[+-]?[0-9]+$"
    csv_missing = False
    may_number_rows = True

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_integer(arrow_type))

    def from_csv(self, texts: pa.Array) -> pa.Array:
        return to_integers(texts)

    def row_id(self, learned: ColumnStatistics) -> str | None:
        is_key = learned.key.is_key and not learned.infinite
        return "a row id: a key of integers that are all different" if is_key else None


def to_integers(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "").cast(pa.int64())


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
