"""Readings: what the cells of a column stand for, whatever type they arrive in.

A reading turns cells into keys (texts, numbers or ticks, compared for equality) and keys back into words. An ordered
reading also turns cells into numbers, to be put into bins. A cell that cannot be read has the key None and the number
NaN; it will be unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.cells import BOOLEANS, PARSE_TICKS, TICK_TEXT, as_number, cell_text, parse_number
from maskdiff.encoders.table.columns import Column, arrow_family
from maskdiff.errors import ColumnTypeError

Key = str | int | float

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
DAY = 86_400 * MICROSECONDS["s"]
RESERVED = ("", "missing", "rare", "unseen")
# How a number of each arrow family is read; families that are not here hold no numbers.
NUMBERS: dict[str, Callable[[Any], int | float | None]] = {
    "text": parse_number,
    "boolean": int,
    "integer": int,
    "number": as_number,
}
# From coarse to fine: the first that tells all bounds of a column apart is used.
MOMENT_UNITS = {"moment": ("D", "m", "s", "us"), "time": ("m", "s", "us"), "duration": ()}


class Reading(Protocol):
    """One way to understand a column."""

    @property
    def kind(self) -> str: ...

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        """The key of each of these values of the column, none of them null."""

    def words(self, keys: Sequence[Any]) -> list[str]:
        """What a person reads for these keys; different keys get different words."""


class OrderedReading(Reading, Protocol):
    """One whose keys are numbers."""

    def numbers(self, column: Column) -> FloatArray:
        """The number of each cell, NaN where it is missing or cannot be read, shape (n,)."""

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        """The same as words, as short as keeps these numbers apart."""


@dataclass(frozen=True)
class TextReading:
    """Every cell by its canonical text; `same` maps other spellings to it."""

    same: Mapping[str, str] = field(default_factory=dict)
    kind: str = "category"

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        return [self.same.get(text, text) for text in canonical_texts(values)]

    def words(self, keys: Sequence[Any]) -> list[str]:
        # A value that happens to be called "missing" is not a missing value.
        return [repr(key) if key in RESERVED else str(key) for key in keys]


@dataclass(frozen=True)
class NumberReading:
    """Numbers of any type, and texts that stand for numbers."""

    kind: str = "number"

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        read = NUMBERS.get(arrow_family(values.type))
        if read is None:
            raise type_error(column, "numbers", values.type)
        return [read(value) for value in values.to_pylist()]

    def words(self, keys: Sequence[Any]) -> list[str]:
        return number_words(keys, fewest_digits=6)

    def numbers(self, column: Column) -> FloatArray:
        held = column.array.type
        if pat.is_decimal(held):  # arrow's direct way is not rounded as Python's is
            return floats(column.array.cast(pa.large_string()).cast(pa.float64()))
        if pat.is_integer(held) or pat.is_floating(held) or pat.is_boolean(held):
            return floats(column.array.cast(pa.float64(), safe=False))
        return spread(self, column)

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        return number_words(numbers, fewest_digits=4)


@dataclass(frozen=True)
class DateReading:
    """Dates and times, times of day or durations, as ticks; texts in ISO form are read too."""

    unit: str
    kind: str = "date"

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        family = arrow_family(values.type)
        if family == "text":
            return [self.parse(text) for text in values.to_pylist()]
        if family != self.unit:
            raise type_error(
                column, {"moment": "dates", "time": "times of day"}.get(self.unit, "durations"), values.type
            )
        read: list[Key | None] = ticks(values).tolist()
        return read

    def parse(self, text: str) -> int | None:
        try:
            return PARSE_TICKS[self.unit](text)
        except (ValueError, OverflowError):
            return None

    def words(self, keys: Sequence[Any]) -> list[str]:
        return [TICK_TEXT[self.unit](key) for key in keys]

    def numbers(self, column: Column) -> FloatArray:
        if arrow_family(column.array.type) != self.unit:
            return spread(self, column)
        return np.where(column.missing, np.nan, ticks(column.array))

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        moments = [np.datetime64(int(number), "us") for number in numbers]
        texts = ([str(at.astype(f"datetime64[{unit}]")) for at in moments] for unit in MOMENT_UNITS[self.unit])
        shorter = ([text.partition("T")[2] if self.unit == "time" else text for text in row] for row in texts)
        return coarsest(numbers, [*shorter, self.words(numbers)])


def canonical_texts(values: pa.Array) -> list[str]:
    """The canonical text of each value, none of them null."""
    family = arrow_family(values.type)
    if family in TICK_TEXT:
        return [TICK_TEXT[family](at) for at in ticks(values).tolist()]
    plain: list[Any] = values.to_pylist()
    return plain if family == "text" else [cell_text(value) for value in plain]


def cell_words(column: Column) -> list[str]:
    """Every cell as a person reads it."""
    values, index = column.distinct()
    words = [*TextReading().words(canonical_texts(values)), "missing"]
    return [words[place] for place in index.tolist()]


def ticks(values: pa.Array) -> NDArray[np.int64]:
    """Microseconds, zero where null; finer units are cut off, what does not fit is held at the ends."""
    kind = values.type
    whole = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).fill_null(0)
    counts: NDArray[np.int64] = whole.to_numpy(zero_copy_only=False).astype(np.int64)
    unit = getattr(kind, "unit", "ms")  # date64 counts milliseconds
    if unit == "ns":
        return counts // 1000
    factor = DAY if pat.is_date32(kind) else MICROSECONDS[unit]
    limit = np.iinfo(np.int64).max // factor
    return counts.clip(-limit, limit) * factor


def floats(array: pa.Array) -> FloatArray:
    numbers: FloatArray = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    return numbers


def spread(reading: Reading, column: Column) -> FloatArray:
    """Each cell's number by way of the distinct values."""
    values, index = column.distinct()
    numbers = [np.nan if key is None else float(key) for key in reading.keys(column, values)]
    return np.array([*numbers, np.nan])[index]


def number_words(numbers: Sequence[int | float], fewest_digits: int) -> list[str]:
    writings = ([number_word(number, digits) for number in numbers] for digits in range(fewest_digits, 18))
    return coarsest(numbers, writings)


def number_word(number: int | float, digits: int) -> str:
    """
    >>> number_word(12345678, 6), number_word(0.30000000000000004, 6), number_word(12345678.9, 6)
    ('12345678', '0.3', '12345679')
    """
    number = as_number(number)
    word = str(number) if isinstance(number, int) else f"{number:.{digits}g}"
    return f"{number:.0f}" if "e" in word and 1 <= abs(number) < 1e15 else word


def coarsest(values: Sequence[Any], writings: Iterable[list[str]]) -> list[str]:
    """The first of the writings that keeps different values apart, or else the last."""
    wanted, words = len(set(values)), [str(value) for value in values]
    for words in writings:
        if len(set(words)) == wanted:
            break
    return words


def type_error(column: Column, wanted: str, found: object) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {column.name!r} was to be read as {wanted}, but holds {found}. Convert the column, "
        f"or fit with columns={{{column.name!r}: ...}} naming how to read it."
    )


ORDERED: dict[str, OrderedReading] = {
    "integer": NumberReading(),
    "number": NumberReading(),
    "moment": DateReading("moment"),
    "time": DateReading("time"),
    "duration": DateReading("duration"),
}
READINGS: dict[str, Reading] = {"text": TextReading(), "boolean": TextReading(BOOLEANS), **ORDERED}
