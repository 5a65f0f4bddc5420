"""Token rows of any length as codes of one width: long rows are cut into windows that overlap, short ones are padded.

Nothing is cut off. Every token counts once, in the window where it stands furthest from an edge; the other windows
show it as context only. L windows, F positions in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.rows import Codes
from maskdiff.codes.schema import BoolArray, IntArray, Schema
from maskdiff.errors import SettingError


@dataclass(frozen=True, eq=False, kw_only=True)
class Windows(Codes):
    """Codes whose lines are windows of rows: `row` (L,) says of which row, rising; `start` (L,) where in it.

    `counted` (L, 2) is the run of positions that count in this window. A row without tokens is one line of padding.
    """

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    counted: NDArray[np.int64]

    def take(self, rows: IntArray | slice | Sequence[int] | BoolArray) -> Windows:
        """These lines, in this order."""
        return replace(
            self,
            values=self.values[rows],
            real=None if self.real is None else self.real[rows],
            row=self.row[rows],
            start=self.start[rows],
            counted=self.counted[rows],
        )

    @property
    def counts(self) -> BoolArray:
        """Which cells count here, shape (L, F)."""
        place = np.arange(self.values.shape[1])
        inside: BoolArray = (place >= self.counted[:, :1]) & (place < self.counted[:, 1:])
        return inside

    @property
    def n_rows(self) -> int:
        return int(self.row[-1]) + 1 if len(self.row) else 0

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """How many tokens each row holds, shape (n_rows,)."""
        return np.bincount(self.row, weights=np.diff(self.counted, axis=1)[:, 0], minlength=self.n_rows).astype(int)


def narrowed(codes: Codes) -> Codes:
    """Token rows without the padding behind the longest of them; a table as it is."""
    if codes.real is None or not codes.is_tokens:
        return codes
    real = codes.real[:, : max(1, int(codes.real.sum(axis=1).max(initial=0)))]
    return replace(codes, values=codes.values[:, : real.shape[1]], real=None if real.all() else real)


def check_window(max_length: Any, overlap: Any) -> None:
    """Refuse windows that would not move on."""
    whole = isinstance(max_length, int) and isinstance(overlap, int)
    if not whole or max_length < 1 or not 0 <= overlap < max_length:
        raise SettingError(
            f"max_length must be at least 1 and overlap from 0 to max_length - 1; "
            f"got max_length={max_length!r}, overlap={overlap!r}."
        )


def window_starts(length: int, max_length: int, overlap: int) -> NDArray[np.int64]:
    """Where the windows of a row begin: spread evenly, the first at its beginning, the last at its end.

    >>> window_starts(10, max_length=6, overlap=2)
    array([0, 4])
    >>> window_starts(5, max_length=6, overlap=2)
    array([0])
    """
    beyond = max(0, length - max_length)
    n = -(-beyond // (max_length - overlap)) + 1
    return np.arange(n) * beyond // max(n - 1, 1)


def cut_rows(rows: Sequence[NDArray[Any]], schema: Schema, *, max_length: int, overlap: int) -> Windows:
    """Rows of codes, each an array of its own length, as windows of one width."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    starts = [window_starts(int(length), max_length, overlap) for length in lengths]
    row = np.repeat(np.arange(len(rows)), [len(one) for one in starts])
    start = np.concatenate([np.empty(0, np.int64), *starts])
    width = int(min(max(lengths.max(initial=0), 1), max_length))
    real = np.arange(width) < (lengths[row] - start)[:, None]
    # Padding has a code of its own beyond unseen, so that rows that differ never look alike.
    padding = int(schema.sizes[0]) + 1
    values = np.full(real.shape, padding, dtype=np.min_scalar_type(padding))
    for line, (of, at) in enumerate(zip(row.tolist(), start.tolist(), strict=True)):
        piece = rows[of][at : at + width]
        values[line, : len(piece)] = piece
    counted = _counted(row, start, start + real.sum(axis=1))
    return Windows(values, schema, real, row=row, start=start, counted=counted)


def _counted(row: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The run each window counts, from its own first position on, (L, 2): overlaps are halved between neighbours."""
    same = row[1:] == row[:-1]
    middle = (start[1:] + end[:-1]) // 2
    first, last = start.copy(), end.copy()
    first[1:][same] = middle[same]
    last[:-1][same] = middle[same]
    return np.stack([first - start, last - start], axis=1)
