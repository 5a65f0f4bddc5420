"""How a CSV file is laid out: lines above the header, delimiter, quotes, and whether there is a header at all.

All of it is found by looking at the text, unless the options say it, and what is unusual is said in a warning.
"""

from __future__ import annotations

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from maskdiff.errors import BadLineError, EmptyTableError, ReadingWarning
from maskdiff.io.csv_first_line import OddFirstLine, odd_first_line
from maskdiff.io.csv_quotes import glues_lines
from maskdiff.io.header import FEWEST_BELOW, are_cells, is_title, looks_like_data, title_rows, usual_width
from maskdiff.io.rows import AUTO, ReadOptions

DELIMITERS = (",", ";", "\t", "|")
# Stands in most texts too, so it separates cells only where nothing else does.
BLANK = " "
_ROWS_TO_LOOK_AT = 20
_ROWS_BELOW = 200
_LONGEST_TITLE = 40
_NO_CELLS = 0, 0
_SEPARATOR = re.compile(r'^"?sep=(.)"?$', re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")

# A cell may hold a whole document; the module's own limit is 128 kB.
csv.field_size_limit(1 << 30)


@dataclass(frozen=True)
class CsvLayout:
    """`above` lines are no rows and stand before the header; without a `quote` nothing encloses cells.

    So many columns are `unnamed` because nearly all rows have more cells than the header. An `odd_first` line has
    another number of cells than nearly all rows, and nothing tells what they hold.
    """

    delimiter: str
    quote: str | None
    above: int = 0
    comments: int = 0
    header: bool = True
    names: tuple[str, ...] = ()
    unnamed: int = 0
    odd_first: OddFirstLine | None = None

    def records(self, text: Iterable[str], name: str) -> Iterator[tuple[int, list[str]]]:
        """Rows of cells that are not blank, each with the number of its first line."""
        lines = iter(text)
        for _ in range(self.above):
            next(lines, None)
        reader = _reader(lines, self.delimiter, self.quote)
        line = self.above + 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = self.above + reader.line_num + 1
        except csv.Error as error:
            raise BadLineError(f"{name}, line {line}: cannot be read as CSV ({error}).") from error


def _reader(lines: Iterable[str], delimiter: str, quote: str | None) -> Any:
    if quote is None:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote)


def find_layout(text: str, name: str, reading: ReadOptions, *, complete: bool) -> CsvLayout:
    """The layout of a file that begins with this text; `complete`: the text is all of it."""
    above, comments, separator = _lines_above(text, reading)
    body = text[sum(map(len, islice(_lines(text), above))) :]
    quote = '"' if reading.quote == AUTO else reading.quote
    delimiter = reading.delimiter or separator or sniffed(body, quote)
    if delimiter == BLANK != reading.delimiter:
        _warn(f"{name}: blanks are taken to stand between cells. If they do not: delimiter=','.", "delimiter")
    layout = CsvLayout(delimiter, quote, above, comments)
    if reading.quote == AUTO and quote is not None and glues_lines(body, delimiter, quote, complete=complete):
        layout = replace(layout, quote=None)
        _warn(f'{name}: the quotes (") do not pair, so they are read as part of the cells.', "quote")
    records = list(islice(layout.records(_lines(text), name), _ROWS_BELOW + 1))
    first = [cells for _, cells in records]
    if not first:
        raise EmptyTableError(f"{name} is empty: there is not even a line with the names of the columns.")
    if comments:
        _warn(f"{name}: comment lines above the header left out: {comments}.")
    titles = title_rows(first) if reading.header is not False else 0
    if not titles and reading.header is None:
        titles = int(is_title(first))
    if titles:
        shown = " ".join(cell for cell in first[0] if cell.strip())[:_LONGEST_TITLE]
        _warn(f"{name}: lines above the header left out: {titles} ({shown}).")
        layout = replace(layout, above=records[titles][0] - 1, comments=comments + titles)
    layout = _with_names(layout, first[titles:], name, reading)
    return layout if layout.unnamed else replace(layout, odd_first=odd_first_line(records[titles:]))


def _with_names(layout: CsvLayout, first: list[list[str]], name: str, reading: ReadOptions) -> CsvLayout:
    header = reading.header
    if header is None:
        header = not looks_like_data(first[0], first[1:])
        if not header:
            _warn(
                f"{name}: the first line looks like data, so it is read as a row, and the columns are named column_1, "
                "column_2, ... If it holds their names: header=True.",
                "header",
            )
    if not header:
        return replace(layout, header=False, names=tuple(f"column_{at}" for at in range(1, len(first[0]) + 1)))
    names = [cell.strip() for cell in first[0]]
    unnamed, at_end = _unnamed_columns(len(names), first[1:])
    if unnamed and not at_end:
        _warn(f"{name}: rows have a cell more than the header, so their first column is taken to have no name.")
    names = [*names, *[""] * unnamed] if at_end else [*[""] * unnamed, *names]
    return replace(layout, header=True, names=tuple(names), unnamed=unnamed)


def _unnamed_columns(width: int, below: list[list[str]]) -> tuple[int, bool]:
    """How many cells nearly all rows have more than the header, and whether they are the last ones, all empty.

    Some programs end each row, but not the header, with a delimiter; R does not name the column of row names.
    """
    usual = usual_width(below)
    if usual is None or usual <= width:
        return 0, True
    if not any(cell.strip() for row in below for cell in row[width:]):
        return usual - width, True
    rows = sum(len(row) == usual for row in below)
    return (1, False) if usual == width + 1 and rows >= FEWEST_BELOW else (0, True)


def _warn(message: str, setting: str | None = None) -> None:
    warnings.warn(ReadingWarning(message, setting=setting), stacklevel=2)


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends, none cut before it is needed: a text may be long, and its first lines tell most."""
    return (found[0] for found in _LINE.finditer(text))


# Lines above the header ----------------------------------------------------------------------------------------------


def _lines_above(text: str, reading: ReadOptions) -> tuple[int, int, str | None]:
    """How many lines stand before the header, how many of them are comments, and the delimiter one of them names."""
    lines = list(islice(_lines(text), 1000))
    above, comments, separator = 0, 0, None
    for at, line in enumerate(lines):
        named = _SEPARATOR.match(line.rstrip("\r\n")) if not above else None
        if named:
            separator = named[1]
        elif line.startswith("#") and not _is_header(line, lines[at + 1 : at + 2], reading):
            comments += 1
        elif line.strip():
            break
        above += 1
    return (above, comments, separator) if comments or separator else (0, 0, None)


def _is_header(line: str, below: list[str], reading: ReadOptions) -> bool:
    """Whether a line that begins like a comment names the columns: as many as the next line has, as in `#id,name`."""
    if line[1:2].isspace() or not below or below[0].startswith("#"):
        return False
    delimiters = [reading.delimiter] if reading.delimiter else DELIMITERS
    return any(line.count(one) == below[0].count(one) > 0 for one in delimiters)


def sniffed(text: str, quote: str | None = '"') -> str:
    """The delimiter that cuts the first lines into the most cells, and most of them into as many as the header.

    >>> sniffed("a;b;c\\n1,5;2;3\\n")
    ';'
    """
    rows = {delimiter: _first_rows(text, delimiter, quote) for delimiter in DELIMITERS}
    found = max(DELIMITERS, key=lambda delimiter: _quality(rows[delimiter]))
    alone = _quality(rows[found]) == _NO_CELLS
    return BLANK if alone and are_cells(_first_rows(text, BLANK, quote)) else found


def _first_rows(text: str, delimiter: str, quote: str | None) -> list[list[str]]:
    try:
        return [row for row in islice(_reader(_lines(text), delimiter, quote), _ROWS_TO_LOOK_AT) if row]
    except csv.Error:
        return []


def _quality(rows: list[list[str]]) -> tuple[int, int]:
    """Whether most rows are as wide as the header, half of them, or fewer; and how wide that is."""
    widths = [len(row) for row in rows[title_rows(rows) :]]
    if not widths or widths[0] == 1:
        return _NO_CELLS
    return 2 * Counter(widths)[widths[0]] // len(widths), widths[0]
