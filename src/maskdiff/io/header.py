"""Which row of a table names its columns: not a title above it, and not a row of data."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from maskdiff.encoders.table.cells import parse_number

# So many rows are needed to compare the first one with.
FEWEST_BELOW = 3
_NEARLY_ALL = 0.9
# A value in so many of the rows below is no name.
_OFTEN = 0.05
# The share of different values up to which the values of a column are said to repeat.
_DIFFERENT = 0.7
_NARROWEST_BELOW_TITLES = 3
# 1.234,50 and the like.
_GROUPED = re.compile(r"[+-]?[0-9][0-9.,']*")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


def title_rows(rows: list[list[str]]) -> int:
    """How many of the first rows are titles: they fill at most half as many cells as the header and the rows below it.

    >>> title_rows([["Report"], ["day", "sum", "by"], ["1", "5", "A"], ["2", "7", "A"], ["3", "7", "B"]])
    1
    """
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    typical = max(Counter(filled).items(), key=lambda found: found[1], default=(0, 0))[0]
    header = next((at for at, number in enumerate(filled) if 2 * number > typical), 0)
    if typical < _NARROWEST_BELOW_TITLES or not _names_columns(rows[header], rows[header + 1 :]):
        return 0
    return header


def is_title(rows: list[list[str]]) -> bool:
    """Whether the first row is a title that fills many cells: those below have another number, and begin with a header.

    >>> is_title([["Sums", " May", " 7"], ["day", "sum", "by", "to"], *[["1", "5", "A", "B"]] * 3])
    True
    """
    if len(rows) < 2 or len(rows[0]) == len(rows[1]) or len(rows[1]) != usual_width(rows[1:]):
        return False
    return all(cell.strip() for cell in rows[1]) and _names_columns(rows[1], rows[2:])


def usual_width(rows: list[list[str]]) -> int | None:
    """How many cells nearly all rows have; None where they differ.

    >>> usual_width([["1", "a"], ["2", "b"]]), usual_width([["1", "a"], ["2"]])
    (2, None)
    """
    widths = Counter(map(len, rows)).most_common(1)
    return next((width for width, number in widths if number >= _NEARLY_ALL * len(rows)), None)


def are_cells(rows: list[list[str]]) -> bool:
    """Whether these are rows of cells rather than words of a text: all have as many, and some column holds numbers.

    >>> are_cells([["pet", "weight"], ["dog", "7.5"], ["cat", "4"], ["dog", "8"]])
    True
    >>> are_cells([["name"], ["Ann", "Lee"], ["Bo", "Hall"], ["Cy", "Young"]])
    False
    """
    alike = len(rows) > FEWEST_BELOW and len({len(row) for row in rows}) == 1 < len(rows[0])
    return alike and any(_type(list(column)) == "number" for column in zip(*rows[1:], strict=True))


def _names_columns(first: list[str], below: list[list[str]]) -> bool:
    """Whether a row seems to name the columns: it is unlike the numbers, dates and repeated values below it."""
    rows = [row for row in below if len(row) == len(first)]
    if len(rows) < FEWEST_BELOW:
        return False
    columns = [[cell for cell in column if cell.strip()] for column in zip(*rows, strict=True)]
    pairs = [(name, column) for name, column in zip(first, columns, strict=True) if column]
    typed = [_type([name]) is None for name, column in pairs if _type(column)]
    others = [name not in column for name, column in pairs if not _type(column) and _comes_again(column)]
    return all(typed) and all(others) and len(typed) + len(others) > 1


def _comes_again(column: list[str]) -> bool:
    """Whether the values of a column of texts repeat."""
    return len(set(column)) <= _DIFFERENT * len(column)


def looks_like_data(first: list[str], below: list[list[str]]) -> bool:
    """Whether the first line is a row like those below it, and not the names of the columns.

    Where columns below hold only numbers or only dates, the first line has to hold the same in each of them; where a
    column of texts has values that come again, the first line has to hold one of them, and in a single such column one
    that is frequent.

    >>> looks_like_data(["cat", "4.5"], [["dog", "7.5"], ["cat", "4"], ["dog", "8"]])
    True
    >>> looks_like_data(["pet", "weight"], [["dog", "7.5"], ["cat", "4"], ["dog", "8"]])
    False
    """
    rows = [row for row in below if len(row) == len(first) and row != first]
    if len(rows) < FEWEST_BELOW or not all(cell.strip() for cell in first) or _counts_up(first):
        return False
    columns = [[cell for cell in column if cell.strip()] for column in zip(*rows, strict=True)]
    typed = [(name, column) for name, column in zip(first, columns, strict=True) if column and _type(column)]
    if not all(_type([name]) == _type(column) for name, column in typed):
        return False
    texts = [(name, column) for name, column in zip(first, columns, strict=True) if column and not _type(column)]
    again = [column.count(name) for name, column in texts if _comes_again(column)]
    often = any(count >= max(FEWEST_BELOW, _OFTEN * len(rows)) for count in again)
    return all(again) and (len(again) > 1 or often or bool(typed and (again or not texts)))


def _type(cells: list[str]) -> str | None:
    if all(_DATE.fullmatch(cell.strip()) for cell in cells):
        return "date"
    return "number" if all(_is_number(cell.strip()) for cell in cells) else None


def _is_number(cell: str) -> bool:
    return parse_number(cell) is not None or _GROUPED.fullmatch(cell) is not None


def _counts_up(names: list[str]) -> bool:
    """Whether the numbers among the names count up by one, as numbered columns and years do."""
    numbers = [number for number in map(parse_number, names) if number is not None]
    return len(numbers) > 1 and all(b - a == 1 for a, b in pairwise(numbers))
