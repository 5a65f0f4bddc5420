"""Token rows of any length as codes of one width: long rows are cut into windows that overlap, short ones are padded.

Nothing is cut off. Every token counts once, in the window where it is furthest from an edge; the other windows show it
as context only. N rows, T tokens of all rows together, L windows (lines), F positions in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.rows import Codes
from maskdiff.codes.schema import BoolArray, IntArray, Schema
from maskdiff.errors import SettingError


@dataclass(frozen=True, eq=False, kw_only=True)
class Windows(Codes):
    """Codes whose lines are windows of rows: `row` (L,) is the row of each line, rising, and `start` (L,) its place.

    `counted` (L, 2) is the run of positions that count in this window. A row without tokens is one line of padding.
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    counted: NDArray[np.int64]

    def take(self, rows: IntArray | slice | Sequence[int] | BoolArray) -> Self:
        """These lines, in this order."""
        return replace(
            self,
            values=self.values[rows],
            real=None if self.real is None else self.real[rows],
            row=self.row[rows],
            start=self.start[rows],
            counted=self.counted[rows],
        )

    def lines_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lines of these rows, in this order."""
        first, last = (np.searchsorted(self.row, rows, side=side) for side in ("left", "right"))
        return ranges(first, last - first)

    def take_rows(self, rows: NDArray[np.int64]) -> Self:
        """All windows of these rows, which are numbered anew in this order."""
        lines = self.lines_of(rows)
        n_lines = np.bincount(self.row, minlength=self.n_rows)[rows]
        return replace(self.take(lines), row=np.repeat(np.arange(len(rows)), n_lines))

    @property
    def counts(self) -> BoolArray:
        """Which cells count here, shape (L, F)."""
        position = np.arange(self.values.shape[1])
        inside: BoolArray = (position >= self.counted[:, :1]) & (position < self.counted[:, 1:])
        return inside

    @property
    def n_rows(self) -> int:
        return int(self.row[-1]) + 1 if len(self.row) else 0

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """How many tokens each row holds, shape (N,)."""
        return np.bincount(self.row, weights=np.diff(self.counted, axis=1)[:, 0], minlength=self.n_rows).astype(int)


def narrowed(codes: Codes) -> Codes:
    """Token rows without the padding behind the longest of them; a table as it is."""
    if codes.real is None or not codes.is_tokens:
        return codes
    real = codes.real[:, : max(1, int(codes.real.sum(axis=1).max(initial=0)))]
    return replace(codes, values=codes.values[:, : real.shape[1]], real=None if real.all() else real)


def ranges(first: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers from each `first` on, as many as its `length`, one run after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(length) - length
    found: NDArray[np.int64] = np.arange(length.sum()) + np.repeat(first - before, length)
    return found


def check_window(max_length: Any, overlap: Any) -> None:
    """Refuse windows that would not move on."""
    whole = isinstance(max_length, int) and isinstance(overlap, int)
    if not whole or max_length < 1 or not 0 <= overlap < max_length:
        raise SettingError(
            f"max_length must be at least 1 and overlap from 0 to max_length - 1; "
            f"got max_length={max_length!r}, overlap={overlap!r}."
        )


# Windows of few different widths are computed together.
_WIDTH_STEP = 8


def window_spans(
    lengths: NDArray[np.int64], *, max_length: int, overlap: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The row of each window, its first token, and its end: as few windows as cover a row, and these no wider than it
    takes to overlap, up to a multiple of 8. They are spread evenly, from the row's beginning to its end.

    >>> window_spans(np.array([10, 5]), max_length=6, overlap=2)
    (array([0, 0, 1]), array([0, 4, 0]), array([ 6, 10,  5]))
    >>> window_spans(np.array([300]), max_length=256, overlap=64)[1:]
    (array([  0, 116]), array([184, 300]))
    """
    n = -(-np.maximum(lengths - max_length, 0) // (max_length - overlap)) + 1
    needed = -(-(lengths + (n - 1) * overlap) // n)
    width = np.minimum(-(-needed // _WIDTH_STEP) * _WIDTH_STEP, max_length)
    row = np.repeat(np.arange(len(lengths)), n)
    beyond = np.maximum(lengths - width, 0)[row]
    start = ranges(np.zeros_like(n), n) * beyond // np.maximum(n[row] - 1, 1)
    return row, start, np.minimum(start + width[row], lengths[row])


def cut_rows(
    codes: NDArray[Any], lengths: NDArray[np.int64], schema: Schema, *, max_length: int, overlap: int
) -> Windows:
    """Rows of codes as windows; `codes` (T,) holds one row after the other, `lengths` (N,) how long they are."""
    row, start, end = window_spans(lengths, max_length=max_length, overlap=overlap)
    n_real = end - start
    real = np.arange(max(n_real.max(initial=0), 1)) < n_real[:, None]
    # Padding has a code of its own beyond unseen, so that rows that differ never look alike.
    padding = int(schema.sizes[0]) + 1
    values = np.full(real.shape, padding, dtype=np.min_scalar_type(padding))
    first = np.cumsum(lengths) - lengths
    values[real] = codes[ranges(first[row] + start, n_real)]
    return Windows(values, schema, real, row=row, start=start, counted=_counted(row, start, end))


def _counted(row: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The run each window counts, from its own first position on, (L, 2): overlaps are halved between neighbours."""
    same = row[1:] == row[:-1]
    middle = (start[1:] + end[:-1]) // 2
    first, last = start.copy(), end.copy()
    first[1:][same] = middle[same]
    last[:-1][same] = middle[same]
    return np.stack([first - start, last - start], axis=1)
