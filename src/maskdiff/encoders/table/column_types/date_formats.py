"""The ways to write a date: for each the texts that look like it, and the ticks such a text stands for.

A text is read by the parts its pattern names: year, month or name (of a month), day, hour, minute, second, fraction,
half (AM, PM) and zone. Without a zone a time is taken as UTC, without a day the first of the month is meant, and years
of two digits are those from 1969 to 2068.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property

from maskdiff.encoders.table.cells import EPOCH, TICK, parse_moment
from maskdiff.encoders.table.column_types.date_arrays import PLAIN_DAY_FIRST, PLAIN_ISO, PLAIN_MONTH_FIRST, PlainDate

_TIME = (
    r"(?:(?:T|,? +)(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?(?: ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?$"
)
_YEAR, _SHORT_YEAR = r"(?P<year>[0-9]{4})", r"(?P<year>[0-9]{4}|[0-9]{2})"
_MONTH, _DAY = r"(?P<month>[0-9]{1,2})", r"(?P<day>[0-9]{1,2})"
_NAME = r"(?P<name>[A-Za-zÀ-ÿ]{3,10})\.?"
_WEEKDAY = r"^(?:[A-Za-z]{2,9}\.?,? +)?"
# English, German, French and Spanish, whole and abbreviated.
_NAMES = (
    "jan january januar jänner janv janvier ene enero",
    "feb february februar févr fév février febrero",
    "mar march mär mrz märz mars marzo",
    "apr april avr avril abr abril",
    "may mai mayo",
    "jun june juni juin junio",
    "jul july juli juil juillet julio",
    "aug august août ago agosto",
    "sep sept september septembre septiembre",
    "oct october okt oktober octobre octubre",
    "nov november novembre noviembre",
    "dec december dez dezember déc décembre dic diciembre",
)
MONTHS = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
_FIRST_SHORT_YEAR = 69


@dataclass(frozen=True)
class DateFormat:
    """One way to write a date. `pattern` is read by arrow, which looks at whole columns, and by Python alike.

    Texts that are `plain` need not be looked at one by one.
    """

    name: str
    pattern: str
    read: Callable[[Mapping[str, str | None]], int]
    # What is read once a column is known to be written this way, where that is more than what it is recognised by.
    wider: str | None = None
    plain: PlainDate | None = None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.wider or self.pattern)

    def ticks(self, text: str) -> int | None:
        """The moment this text stands for, None if it is not written this way or there is no such day."""
        match = self._compiled.fullmatch(text)
        try:
            return None if match is None else self.read(match.groupdict())
        except (ValueError, OverflowError):  # the 31st of February
            return None


def moment(parts: Mapping[str, str | None]) -> int:
    """Ticks of a date in parts.

    >>> moment({"year": "70", "month": "1", "day": "1", "hour": "12", "minute": "00", "half": "am"})
    0
    """
    name = parts.get("name")
    month = int(parts.get("month") or 0) if name is None else MONTHS.get(name.casefold(), 0)
    day = int(parts.get("day") or 1)
    at = datetime(_year(parts["year"] or ""), month, day, _hour(parts), *_rest(parts), tzinfo=_zone(parts.get("zone")))
    return (at - EPOCH) // TICK


def _marked_moment(parts: Mapping[str, str | None]) -> int:
    day, month, year, mark = (parts[part] or "" for part in ("day", "month", "year", "mark"))
    # Single digits with dots between them are how versions are written: 1.2.10.
    if mark != parts["second_mark"] or (mark == "." and len(year) == 2 and len(day + month) < 4):
        raise ValueError("not the marks of a date")
    return moment(parts)


def _year(text: str) -> int:
    if len(text) == 4:
        return int(text)
    return int(text) + (1900 if int(text) >= _FIRST_SHORT_YEAR else 2000)


def _hour(parts: Mapping[str, str | None]) -> int:
    hour, half = int(parts.get("hour") or 0), parts.get("half")
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(f"there is no hour {hour} {half}")
    return hour % 12 + 12 * (half[0] in "pP")


def _rest(parts: Mapping[str, str | None]) -> tuple[int, int, int]:
    """Minute, second and microsecond."""
    microsecond = (parts.get("fraction") or "").ljust(6, "0")[:6]
    return int(parts.get("minute") or 0), int(parts.get("second") or 0), int(microsecond)


def _zone(text: str | None) -> timezone:
    if text is None or text[0] not in "+-":
        return UTC
    offset = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-offset if text[0] == "-" else offset)


def _seconds(parts: Mapping[str, str | None]) -> int:
    microseconds = int((parts["fraction"] or "").ljust(6, "0")[:6])
    return int(parts["count"] or 0) * 1_000_000 + microseconds


def _milliseconds(parts: Mapping[str, str | None]) -> int:
    return int(parts["count"] or 0) * 1_000


# Formats of which a cell alone says which it is of.
UNAMBIGUOUS = (
    DateFormat("yyyy-mm-dd", rf"^{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}", moment, plain=PLAIN_ISO),
    DateFormat("yyyy-mm", r"^(?P<year>(?:19|20)[0-9]{2})[-/](?P<month>0[1-9]|1[0-2])$", moment),
    DateFormat("mm/yyyy", r"^(?P<month>0?[1-9]|1[0-2])/(?P<year>(?:19|20)[0-9]{2})$", moment),
    DateFormat(
        "25 Sep 2024",
        rf"{_WEEKDAY}{_DAY}(?:st|nd|rd|th|\.)?[ -]+{_NAME}[ ,-]+{_SHORT_YEAR}{_TIME}",
        moment,
    ),
    DateFormat("Sep 25, 2024", rf"{_WEEKDAY}{_NAME} +{_DAY}(?:st|nd|rd|th)?,? +{_YEAR}{_TIME}", moment),
    DateFormat("Sep 2024", rf"^{_NAME}[ ,-]+{_YEAR}$", moment),
)
# Formats that only the whole column can tell apart: the order of day and month, and numbers that stand for dates.
# Nobody who writes dots writes the month first.
_END = rf"(?P<second_mark>[./-]){_SHORT_YEAR}{_TIME}"
DAY_FIRST = DateFormat("dd/mm/yyyy", rf"^{_DAY}(?P<mark>[./-]){_MONTH}{_END}", _marked_moment, plain=PLAIN_DAY_FIRST)
MONTH_FIRST = DateFormat("mm/dd/yyyy", rf"^{_MONTH}(?P<mark>[/-]){_DAY}{_END}", _marked_moment, plain=PLAIN_MONTH_FIRST)
# 99991231 is how systems write that a contract has no end.
COMPACT = DateFormat("yyyymmdd", r"^(?P<year>(?:19|20)[0-9]{2}|9999)(?P<month>[0-9]{2})(?P<day>[0-9]{2})$", moment)
# From 1980 to 2100; a column of such numbers may later hold any moment.
_SINCE_1980 = r"3[2-9][0-9]{7}|[4-9][0-9]{8}|[1-3][0-9]{9}|40[0-9]{8}"
_FRACTION = r"(?:\.(?P<fraction>[0-9]{1,9}))?"
SECONDS = DateFormat(
    "epoch seconds",
    rf"^(?P<count>{_SINCE_1980}){_FRACTION}$",
    _seconds,
    rf"^(?P<count>-?[0-9]{{1,12}}){_FRACTION}$",
)
MILLISECONDS = DateFormat(
    "epoch milliseconds",
    rf"^(?P<count>(?:{_SINCE_1980})[0-9]{{3}})$",
    _milliseconds,
    r"^(?P<count>-?[0-9]{1,15})$",
)


def parse_date(text: str) -> int:
    """Ticks of a date that can be read in one way only."""
    text = text.strip()
    try:
        return parse_moment(text)
    except ValueError:
        ticks = next((at for one in UNAMBIGUOUS if (at := one.ticks(text)) is not None), None)
    if ticks is None:
        raise ValueError(f"{text!r} is no date")
    return ticks
