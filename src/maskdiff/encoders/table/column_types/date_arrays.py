"""Dates of a whole column at once, where they are written the plainest way: all digits, two for day and month.

Most columns hold nothing else, and millions of moments are read in the time that Python reads thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_YEAR, _MONTH, _DAY = "[12][0-9]{3}", "[01][0-9]", "[0-3][0-9]"
_TIME = "(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?)?"


@dataclass(frozen=True)
class PlainDate:
    """Texts that match `pattern` have the year, the month and the day at these places, and the time behind them."""

    pattern: str
    year: int
    month: int
    day: int

    def iso(self, texts: pa.Array) -> pa.Array:
        """The same dates as ISO writes them."""
        sizes = {self.year: 4, self.month: 2, self.day: 2}
        parts: list[Any] = [pc.utf8_slice_codeunits(texts, at, at + size) for at, size in sizes.items()]
        dates = pc.binary_join_element_wise(*parts, pa.scalar("-", texts.type))
        return pc.binary_join_element_wise(dates, pc.utf8_slice_codeunits(texts, 10), pa.scalar("", texts.type))


def _either_mark(first: str, second: str, marks: str) -> str:
    return "(?:" + "|".join(f"{first}[{mark}]{second}[{mark}]" for mark in marks) + ")"


PLAIN_ISO = PlainDate(rf"^{_YEAR}-{_MONTH}-{_DAY}{_TIME}$", 0, 5, 8)
PLAIN_DAY_FIRST = PlainDate(rf"^{_either_mark(_DAY, _MONTH, './-')}{_YEAR}{_TIME}$", 6, 3, 0)
PLAIN_MONTH_FIRST = PlainDate(rf"^{_either_mark(_MONTH, _DAY, '/-')}{_YEAR}{_TIME}$", 6, 0, 3)


def plain_ticks(texts: pa.Array, formats: Iterable[PlainDate]) -> pa.Array:
    """Ticks of the texts in one of these formats; null for all others, and where a format holds days there are not.

    >>> plain_ticks(pa.array(["1970-01-02", "2. Januar 1970"]), [PLAIN_ISO]).to_pylist()
    [86400000000, None]
    """
    found = pa.nulls(len(texts), pa.int64())
    for one in formats:
        fits = pc.match_substring_regex(texts, one.pattern)
        try:
            moments = one.iso(texts.filter(fits)).cast(pa.timestamp("us"))
        except pa.ArrowInvalid:  # the 31st of February, or the hour 25
            continue
        found = pc.replace_with_mask(found, fits, moments.cast(pa.int64()))
    return found
