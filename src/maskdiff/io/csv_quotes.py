"""Whether the quotes of a CSV file pair, found without a loop over its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The share of lines that may be of another width than most, where lines are rows of their own.
_OTHER_WIDTHS = 0.02

Places = NDArray[np.int64]


def glues_lines(text: str, delimiter: str, quote: str, *, complete: bool) -> bool:
    r"""Whether quotes glue lines together that are rows of their own; `complete`: the text is all of the file.

    They do where a cell that opens with a quote runs over line ends and is never closed, or closed in the middle of
    another cell, or holds whole rows of a file with tabs; and where nearly every line, taken by itself, has as many
    cells as the others. Quotes around cells with delimiters in them are never of that sort.

    >>> glues_lines('a,b\n1,"2\n3,4\n', ",", '"', complete=True)
    True
    >>> glues_lines('a,b\n1,"2\n3"\n', ",", '"', complete=True)
    False
    """
    if quote not in text:
        return False
    raw, between = text.encode("utf-8", "surrogatepass"), delimiter.encode()
    cells = _cells_over_lines(raw, between, quote.encode())
    return any(_is_glued(*cell, between, complete) for cell in cells) and _lines_alike(raw, between, complete)


def _is_glued(cell: bytes, closed: bool, follows: bytes, delimiter: bytes, complete: bool) -> bool:
    if not closed:
        return complete
    if follows and not follows.startswith((delimiter, b"\r", b"\n")):
        return True
    return delimiter == b"\t" and delimiter in cell


def _cells_over_lines(raw: bytes, delimiter: bytes, quote: bytes) -> Iterator[tuple[bytes, bool, bytes]]:
    """Each cell that opens with a quote and runs over a line end: what it holds, whether it is closed, what follows."""
    q, before = re.escape(quote), re.escape(delimiter)
    at_start = rb"(?:(?<=%b%b)|(?<=[\r\n]%b)|(?<=\A%b))" % (before, q, q, q)
    opened = re.compile(rb"%b%b([^%b]*(?:%b%b[^%b]*)*)(%b?)" % (q, at_start, q, q, q, q, q))
    starts = _starts_over_lines(raw, delimiter, quote)
    matches = opened.finditer(raw) if starts is None else (opened.match(raw, start) for start in starts.tolist())
    for found in matches:
        if found is not None and (b"\n" in found[1] or b"\r" in found[1]):
            yield found[1], bool(found[2]), raw[found.end() : found.end() + 4]


def _starts_over_lines(raw: bytes, delimiter: bytes, quote: bytes) -> Places | None:
    """Where the cells start that run over a line end; None where a quote that opens is not at the start of a cell.

    Where quotes only stand around cells, and doubled in them, every other one opens, and a line end behind an odd
    number of them is inside a cell.
    """
    data = np.frombuffer(raw, np.uint8)
    quotes = _places(data, quote[-1])
    opening = quotes[::2]
    before = np.where(opening > 0, data[opening - 1], ord("\n"))
    again = before == quote[-1]
    if not (again | np.isin(before, [delimiter[-1], ord("\r"), ord("\n")])).all():
        return None
    line_ends = _line_ends(data)
    inside = line_ends[np.searchsorted(quotes, line_ends) % 2 == 1]
    starts = opening[~again]
    return np.unique(starts[np.searchsorted(starts, inside) - 1])


def _lines_alike(raw: bytes, delimiter: bytes, complete: bool) -> bool:
    """Whether nearly all lines have the same number of cells, more than one; a line that is cut off does not count."""
    data = np.frombuffer(raw, np.uint8)
    line_ends, delimiters = _line_ends(data), _places(data, delimiter[-1])
    starts = np.append(0, line_ends + 1)
    stops = np.append(line_ends, len(data) if complete else starts[-1])
    filled = stops > starts
    widths = np.searchsorted(delimiters, stops[filled]) - np.searchsorted(delimiters, starts[filled])
    values, counts = np.unique(widths, return_counts=True)
    most = counts.argmax()
    return bool(values[most] > 0 and counts[most] >= (1 - _OTHER_WIDTHS) * len(widths))


def _places(data: Any, byte: int) -> Places:
    return np.flatnonzero(data == byte)


def _line_ends(data: Any) -> Places:
    return np.flatnonzero((data == ord("\n")) | (data == ord("\r")))
