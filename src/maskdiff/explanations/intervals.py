"""Bins as people write them."""

from __future__ import annotations

import re
from functools import cache

_BIN = re.compile(r"[\[(](.+), (.+)[\])]")


@cache
def interval_text(label: str) -> str:
    """A bin as people write it, any other label as it is.

    >>> interval_text("(309.8, 577.4]"), interval_text("red")
    ('309.8 to 577.4', 'red')
    >>> interval_text("(2 days after, 14 days after]")
    '2 to 14 days after'
    """
    match = _BIN.fullmatch(label)
    if match is None:
        return label
    low, _, unit = match[1].partition(" ")
    # What both ends have in common is said at the second one.
    return f"{low if match[2].endswith(f' {unit}') else match[1]} to {match[2]}"
