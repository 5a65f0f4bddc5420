"""One cell at a time: the canonical text, number or tick of a value.

A cell means the same in every type its column may arrive in: 1, 1.0, Decimal("1.00") and the text "1" are one
number, and a date is a number of ticks, microseconds since 1970 in UTC (a time without zone is taken as UTC; anything
finer than a microsecond is cut off). Nothing here looks at a second cell.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import singledispatch
from numbers import Integral, Real
from typing import Any

import numpy as np

# Beyond this an integer is read as a float: it fits no machine integer, signed or not.
EXACT_BELOW = 2**64
TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BOOLEANS = {"false": "False", "FALSE": "False", "0": "False", "true": "True", "TRUE": "True", "1": "True"}
HALF = re.compile(r"(.*?)(?: ?([AaPp])\.?[Mm]\.?)?", re.DOTALL)
DURATION = re.compile(r"(?:(-?\d+) days?,? )?([+-]?)(\d+):(\d\d):(\d\d(?:\.\d+)?)")


def as_number(value: Any) -> int | float:
    """An integer where the value is one, else a float; equal numbers of any type become equal keys.

    >>> as_number(Decimal("1.00")), as_number(0.5), as_number(2**70)
    (1, 0.5, 1.1805916207174113e+21)
    """
    if abs(value) < EXACT_BELOW and value == int(value):
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def parse_number(text: str) -> int | float | None:
    """The number a text stands for, None if it stands for none.

    >>> parse_number(" 1.0 "), parse_number("1e3"), parse_number("twelve"), parse_number("nan")
    (1, 1000, None, None)
    """
    if text in ("True", "False"):
        return int(text == "True")
    if "_" in text:  # 1_000 is Python's way of writing numbers, not a table's
        return None
    for read in (int, float):
        try:
            number = as_number(read(text))
        except ValueError:  # not a number, or "nan", which has no integer part
            continue
        return None if math.isnan(number) else number
    return None


def parse_moment(text: str) -> int:
    """Ticks of an ISO date or date and time."""
    moment = datetime.fromisoformat(text.strip())
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - EPOCH) // TICK


def parse_time(text: str) -> int:
    """Ticks since midnight of a time of day, ISO or with AM or PM.

    >>> parse_time("8:30 PM") == parse_time("20:30:00") == 73_800_000_000
    True
    """
    clock, half = HALF.fullmatch(text.strip()).groups()  # type: ignore[union-attr]  # it matches any text
    at = time.fromisoformat(clock if clock[1:2] != ":" else f"0{clock}")
    if half is not None:
        if not 1 <= at.hour <= 12:
            raise ValueError(f"there is no hour {at.hour} {half}M")
        at = at.replace(hour=at.hour % 12 + 12 * (half in "pP"))
    return timedelta(hours=at.hour, minutes=at.minute, seconds=at.second, microseconds=at.microsecond) // TICK


def parse_duration(text: str) -> int:
    """Ticks of a duration such as "1 day, 2:03:04" (Python's writing) or "-1 days +02:03:04" (pandas').

    >>> parse_duration("1 day, 0:00:01") == 86_401_000_000
    True
    """
    match = DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration")
    days, sign, hours, minutes, seconds = match.groups()
    rest = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return (timedelta(days=int(days or 0)) + (-rest if sign == "-" else rest)) // TICK


def moment_text(ticks: int) -> str:
    """ISO date, with the time of day unless it is midnight.

    >>> moment_text(0), moment_text(3_600_000_000)
    ('1970-01-01', '1970-01-01T01:00:00')
    """
    return str(np.datetime64(int(ticks), "us")).removesuffix(".000000").removesuffix("T00:00:00")


def time_text(ticks: int) -> str:
    return moment_text(ticks).partition("T")[2] or "00:00:00"


def duration_text(ticks: int) -> str:
    return str(timedelta(microseconds=int(ticks)))


@singledispatch
def cell_text(value: Any) -> str:
    """The canonical text of any value a table may hold.

    >>> cell_text(1.0), cell_text(True), cell_text(date(2024, 2, 29)), cell_text("01")
    ('1', 'True', '2024-02-29', '01')
    """
    cls: Any = type(value)
    if cls.__str__ is object.__str__ and cls.__repr__ is object.__repr__:
        raise TypeError(f"a {cls.__name__} has no text but its address in memory")
    return str(value)


@cell_text.register(str)
def _text(value: str) -> str:
    # Half a surrogate pair cannot be stored as UTF-8.
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


@cell_text.register(bytes)
def _bytes(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")


@cell_text.register(bool)
@cell_text.register(np.bool_)
def _boolean(value: bool) -> str:
    return str(bool(value))


@cell_text.register(Integral)
def _integer(value: Any) -> str:
    return str(as_number(int(value)))


@cell_text.register(Real)
@cell_text.register(Decimal)
def _number(value: Any) -> str:
    return str(as_number(value))


@cell_text.register(np.floating)
def _short_float(value: Any) -> str:
    # The shortest text of a 32-bit float is the number its owner wrote: 0.1, not 0.10000000149011612.
    return str(as_number(float(str(value))))


@cell_text.register(date)
def _date(value: date) -> str:
    return value.isoformat()


@cell_text.register(datetime)
def _moment(value: datetime) -> str:
    aware = value.replace(tzinfo=value.tzinfo or UTC)
    return moment_text((aware - EPOCH) // TICK)


@cell_text.register(time)
def _time(value: time) -> str:
    return value.replace(tzinfo=None).isoformat()


@cell_text.register(timedelta)
def _duration(value: timedelta) -> str:
    return duration_text(value // TICK)


@cell_text.register(np.datetime64)
def _numpy_moment(value: np.datetime64) -> str:
    return moment_text(int(value.astype("datetime64[us]").astype(np.int64)))


@cell_text.register(np.timedelta64)
def _numpy_duration(value: np.timedelta64) -> str:
    return duration_text(int(value.astype("timedelta64[us]").astype(np.int64)))
