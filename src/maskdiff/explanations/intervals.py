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
    """
    match = _BIN.fullmatch(label)
    return f"{match[1]} to {match[2]}" if match else label
