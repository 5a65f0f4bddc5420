"""Dates with or without a time, times of day, durations: all as ticks, microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import is_text, ticks
from maskdiff.encoders.table.cells import (
    duration_text,
    moment_text,
    parse_duration,
    parse_moment,
    parse_time,
    time_text,
)
from maskdiff.encoders.table.column_types.base import Key, NumericType, first_distinct, type_error

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"


class TickType(NumericType):
    """A type whose keys are ticks; texts are read too.

    It has no tails: what is scored is mostly later than what was learned from.
    """

    has_tails = False
    parse: Callable[[str], int]
    tick_text: Callable[[int], str]
    # NumPy's units of time from coarse to fine: the first that keeps all bounds of a column apart is used.
    units: tuple[str, ...] = ()

    def key(self, text: str) -> Key | None:
        try:
            return self.parse(text)
        except (ValueError, OverflowError):
            return None

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        if is_text(values.type):
            return [self.key(text) for text in values.to_pylist()]
        if not self.is_arrow(values.type):
            raise type_error(column, self, values.type)
        keys: list[Key | None] = ticks(values).tolist()
        return keys

    def numbers(self, column: Column) -> FloatArray:
        if not self.is_arrow(column.array.type):
            return super().numbers(column)
        return np.where(column.missing, np.nan, ticks(column.array))

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return [self.tick_text(key) for key in keys]

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        moments = [np.datetime64(int(number), "us") for number in numbers]
        shorter = ([self.shortened(str(at.astype(f"datetime64[{unit}]"))) for at in moments] for unit in self.units)
        return first_distinct(numbers, [*shorter, self.texts(numbers)])

    def shortened(self, text: str) -> str:
        """What of the text of a moment is shown as a bound."""
        return text


class DateType(TickType):
    """Dates, and dates with a time of day."""

    name = "date"
    plural = "dates"
    python_types = (date, np.datetime64)
    csv_pattern = ISO
    parse = staticmethod(parse_moment)
    tick_text = staticmethod(moment_text)
    units = ("D", "m", "s", "us")

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_date(arrow_type) or pat.is_timestamp(arrow_type))

    def from_csv(self, texts: pa.Array) -> pa.Array:
        distinct = texts.dictionary_encode()
        moments = pa.array([parse_moment(text) for text in distinct.dictionary.to_pylist()], pa.int64())
        return moments.take(distinct.indices).cast(pa.timestamp("us"))


class TimeType(TickType):
    """Times of day."""

    name = "time"
    general = "date"
    plural = "times of day"
    python_types = (time,)
    parse = staticmethod(parse_time)
    tick_text = staticmethod(time_text)
    units = ("m", "s", "us")

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_time(arrow_type))

    def shortened(self, text: str) -> str:
        return text.partition("T")[2]


class DurationType(TickType):
    """Lengths of time."""

    name = "duration"
    general = "date"
    plural = "durations"
    python_types = (timedelta, np.timedelta64)
    parse = staticmethod(parse_duration)
    tick_text = staticmethod(duration_text)

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_duration(arrow_type))
