"""Dates with or without a time, times of day, durations: all as ticks, microseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, time, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import DAY, is_text, ticks
from maskdiff.encoders.table.beyond import NumberRange, Tail
from maskdiff.encoders.table.cells import duration_text, moment_text, parse_duration, parse_time, time_text
from maskdiff.encoders.table.column_types.base import ColumnType, Key, NumericType, first_distinct, type_error
from maskdiff.encoders.table.column_types.date_arrays import plain_ticks
from maskdiff.encoders.table.column_types.date_formats import (
    DAY_FIRST,
    MONTH_FIRST,
    UNAMBIGUOUS,
    DateFormat,
    parse_date,
)
from maskdiff.encoders.table.number_format import DIGIT, matches_all

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

# In ticks, and a leap year.
YEAR = 366.0 * DAY
# How slowly dates beyond the range thin out: nothing seen says so, but the year 2999 is out of all question.
_TAIL_SHAPE = 0.25


class TickType(NumericType):
    """A type whose keys are ticks; texts are read too.

    It has no tails: what is scored is mostly later than what was learned from.
    """

    has_tails = False
    ends = ("earliest", "latest")
    parse: Callable[[str], int]
    tick_text: Callable[[int], str]
    # What its texts become.
    stored: pa.DataType
    # NumPy's units of time from coarse to fine: the first that keeps all bounds of a column apart is used.
    units: tuple[str, ...] = ()

    def holds(self, arrow_type: pa.DataType) -> bool:
        """Whether arrow columns of this type hold its ticks."""
        return self.is_arrow(arrow_type)

    def key(self, text: str) -> Key | None:
        try:
            return self.parse(text)
        except (ValueError, OverflowError):
            return None

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        if is_text(values.type):
            return [self.key(text) for text in values.to_pylist()]
        if not self.holds(values.type):
            raise type_error(column, self, values.type)
        keys: list[Key | None] = ticks(values).tolist()
        return keys

    def numbers(self, column: Column) -> FloatArray:
        if not self.holds(column.array.type):
            return super().numbers(column)
        # Marks are null too, though not missing.
        return np.where(column.array.is_null().to_numpy(zero_copy_only=False), np.nan, ticks(column.array))

    def text_ticks(self, texts: pa.Array) -> pa.Array:
        """Ticks of each of these texts, null where it cannot be read."""
        return pa.array(map(self.key, texts.to_pylist()), pa.int64())

    def from_texts(self, texts: pa.Array) -> pa.Array:
        distinct = texts.dictionary_encode()
        return self.text_ticks(distinct.dictionary).take(distinct.indices).cast(self.stored)

    def texts(self, keys: Sequence[Any]) -> list[str]:
        return [self.tick_text(key) for key in keys]

    def cell_text(self, key: Any) -> str:
        return self.tick_text(key)

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        moments = [np.datetime64(int(number), "us") for number in numbers]
        shorter = ([self.shortened(str(at.astype(f"datetime64[{unit}]"))) for at in moments] for unit in self.units)
        return first_distinct(numbers, [*shorter, self.texts(numbers)])

    def shortened(self, text: str) -> str:
        """What of the text of a moment is shown as a bound."""
        return text


class DateType(TickType):
    """Dates, and dates with a time of day, in formats that a cell alone tells.

    Time goes on, so a few dates are bins too, not the only ones there are; what is further from the learned dates than
    they are from each other, and further than a year, is unseen.
    """

    name = "date"
    plural = "dates"
    has_levels = False
    python_types = (date, np.datetime64)
    parse = staticmethod(parse_date)
    tick_text = staticmethod(moment_text)
    units = ("D", "m", "s", "us")
    formats: tuple[DateFormat, ...] = UNAMBIGUOUS
    stored = pa.timestamp("us")

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return self.holds(arrow_type)

    def holds(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_date(arrow_type) or pat.is_timestamp(arrow_type))

    def together(self, other: ColumnType) -> ColumnType | None:
        """Dates in a format of their own, for any date type also reads those that a cell alone tells."""
        return other if isinstance(other, DateType) and type(self) is DateType else super().together(other)

    def range_of(self, values: FloatArray, counts: NDArray[np.int64], low: float, high: float) -> NumberRange | None:
        margin = max(high - low, YEAR)
        tail = Tail(margin, _TAIL_SHAPE)
        return NumberRange(low - margin, high + margin, tail, tail)

    def fits_texts(self, texts: pa.Array) -> bool:
        trimmed = pc.utf8_trim_whitespace(texts)
        if not matches_all(trimmed, DIGIT):  # texts of other columns end here, before the longer patterns
            return False
        first = trimmed[0].as_py()  # alone, it costs less than compiling all patterns for all texts
        if first is not None and not any(re.search(one.pattern, first) for one in self.formats):
            return False
        looks = [pc.match_substring_regex(trimmed, one.pattern) for one in self.formats]
        return bool(pc.all(reduce(pc.or_, looks)).as_py()) and not self.text_ticks(texts).null_count

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        return list(self.text_ticks(values).to_pylist()) if is_text(values.type) else super().keys(column, values)

    def text_ticks(self, texts: pa.Array) -> pa.Array:
        """Ticks of each of these texts, null where it is no date."""
        found = plain_ticks(texts, [one.plain for one in self.formats if one.plain is not None])
        others = found.is_null()
        return pc.replace_with_mask(found, others, super().text_ticks(texts.filter(others)))


class FormattedDateType(DateType):
    """Dates in a format that only the whole column tells, beside those that a cell alone tells."""

    general = "date"

    def __init__(self, name: str, own: DateFormat) -> None:
        self.name, self.own = name, own
        self.formats = (own, *UNAMBIGUOUS)

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return False

    def together(self, other: ColumnType) -> ColumnType | None:
        return self if type(other) is DateType else super().together(other)

    def key(self, text: str) -> Key | None:
        ticks = self.own.ticks(text.strip())
        return super().key(text) if ticks is None else ticks


MONTH_FIRST_DATE = FormattedDateType("month_first_date", MONTH_FIRST)
DAY_FIRST_DATE = FormattedDateType("day_first_date", DAY_FIRST)


class TimeType(TickType):
    """Times of day."""

    name = "time"
    general = "date"
    plural = "times of day"
    python_types = (time,)
    parse = staticmethod(parse_time)
    tick_text = staticmethod(time_text)
    units = ("m", "s", "us")
    stored = pa.time64("us")
    text_pattern = (
        r"^(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?$|"
        r"^(?:0?[1-9]|1[0-2]):[0-5][0-9](?::[0-5][0-9])? ?[AaPp]\.?[Mm]\.?$"
    )

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_time(arrow_type))

    def shortened(self, text: str) -> str:
        return text.partition("T")[2]


class DurationType(TickType):
    """Lengths of time."""

    ends = ("shortest", "longest")
    name = "duration"
    general = "date"
    plural = "durations"
    python_types = (timedelta, np.timedelta64)
    parse = staticmethod(parse_duration)
    tick_text = staticmethod(duration_text)
    stored = pa.duration("us")
    # With the days, as programs write them: 2:03:04 alone may be a time of day.
    text_pattern = r"^-?[0-9]{1,6} days?,? [+-]?[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?$"

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_duration(arrow_type))
