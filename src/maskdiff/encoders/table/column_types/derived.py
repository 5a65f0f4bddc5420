"""Types of fields that are computed from dates: the day of the week, the hour, and the time between two dates.

No column of a table is of these types, so nothing is recognised as one; they read integers that `derived` computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import DAY, floats
from maskdiff.encoders.table.column_types.base import ColumnType, Key, NumericType, first_distinct

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

HOUR, MINUTE, SECOND = DAY // 24, DAY // 1440, DAY // 86_400
# From the coarsest on; the first of which there are at least two is used.
UNITS = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"), (SECOND, "second"))
WEEKDAYS = tuple(date(2024, 1, day).strftime("%A") for day in range(1, 8))


class CountedType(ColumnType):
    """A few integers, each with a name; those of a day or a week."""

    general = "category"
    key_types = (int,)
    n_values: int

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        keys: list[Key | None] = values.to_pylist()
        return keys

    def display(self, column: Column) -> list[str]:
        return ["missing" if key is None else self.texts([key])[0] for key in column.array.to_pylist()]


class WeekdayType(CountedType):
    """Days of the week, Monday is 0."""

    name = "weekday"
    n_values = 7

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return [WEEKDAYS[key % 7] for key in keys]


class HourType(CountedType):
    """Hours of the day."""

    name = "hour"
    n_values = 24

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return [f"{key:02d}:00 to {key:02d}:59" for key in keys]


class DifferenceType(NumericType):
    """Ticks from one date to another: negative where the first of the two in the name is the earlier one."""

    name = "difference"
    general = "date"

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        keys: list[Key | None] = values.to_pylist()
        return keys

    def numbers(self, column: Column) -> FloatArray:
        return floats(column.array.cast(pa.float64(), safe=False))

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return first_distinct(keys, ([difference_text(key, digits) for key in keys] for digits in range(4, 18)))

    def display(self, column: Column) -> list[str]:
        return ["missing" if key is None else difference_text(key) for key in column.array.to_pylist()]


def difference_text(ticks: float, digits: int = 4) -> str:
    """How long before or after, in words.

    >>> difference_text(-30 * DAY), difference_text(0), difference_text(36 * HOUR), difference_text(DAY)
    ('30 days before', '0 days after', '36 hours after', '1 day after')
    """
    if not ticks:
        return "0 days after"
    length, unit = abs(ticks), (1, "microsecond")
    whole = next(((size, name) for size, name in UNITS if length % size == 0), None)
    unit = next((size_name for size_name in UNITS if length >= 2 * size_name[0]), unit)
    if whole is not None and whole[0] == DAY:
        unit = whole
    count = f"{length / unit[0]:.{digits}g}"
    return f"{count} {unit[1]}{'' if count == '1' else 's'} {'before' if ticks < 0 else 'after'}"
