"""One cell at a time: whether it is missing, its text and its number. Cells mean what they mean to a detector."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

# Beyond this an integer is read as a float.
_EXACT_BELOW = 2**64
_BOOLEANS = {"false": "False", "FALSE": "False", "0": "False", "true": "True", "TRUE": "True", "1": "True"}


_EPOCH, _TICK = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)  # noqa: UP017  (older Pythons)


def is_missing(value: Any, missing: frozenset[str]) -> bool:
    """None, NaN, or a text that means so."""
    if isinstance(value, str):
        return value.strip() in missing
    number = isinstance(value, Real | Decimal) and bool(value != value)
    return value is None or number or type(value).__name__ == "NaTType" or _is_no_time(value)


def _is_no_time(value: Any) -> bool:
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def as_moment(value: Any) -> int | None:
    """Microseconds since 1970 of a date, a date and time, or an ISO text; None for anything else that is no text.

    A time without zone is taken as UTC. A text that is not ISO raises a ValueError.

    >>> as_moment("1970-01-02"), as_moment(date(1970, 1, 1)), as_moment("1970-01-01T00:00:01+00:00"), as_moment(7)
    (86400000000, 0, 1000000, None)
    """
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if not isinstance(value, date):
        return None
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    since: timedelta = moment.replace(tzinfo=moment.tzinfo or timezone.utc) - _EPOCH  # noqa: UP017
    return since // _TICK


def as_number(value: Any) -> int | float | None:
    """The number that a cell holds or that its text stands for; None if there is none.

    >>> as_number("1.0"), as_number(True), as_number("twelve"), as_number(2.5)
    (1, 1, None, 2.5)
    """
    if isinstance(value, str):
        return _of_text(value)
    number: Any = value.item() if hasattr(value, "item") else value
    if not isinstance(number, Real | Decimal):
        return None
    return _shortest(number)


def _shortest(number: Any) -> int | float:
    whole = abs(number) < _EXACT_BELOW and number == int(number)
    return int(number) if whole else float(number)


def _of_text(text: str) -> int | float | None:
    if text in ("True", "False"):
        return int(text == "True")
    try:
        number = None if "_" in text else float(text)
    except ValueError:
        return None
    return None if number is None or math.isnan(number) else as_number(number)


def as_category(value: Any) -> str:
    """The text of a cell; 1 and 1.0 are one category.

    >>> as_category(1.0), as_category(True), as_category("01")
    ('1', 'True', '01')
    """
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool | str) or not isinstance(value, Real | Decimal):
        return str(value)
    return str(as_number(value))


def as_boolean(value: Any) -> str:
    """False or True, however it is written; any other text as it is."""
    text = as_category(value)
    return _BOOLEANS.get(text, text)
