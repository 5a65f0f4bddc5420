"""Tokens that an explanation names together: the pieces of one new word.

A tokenizer spells a word in pieces because it does not know it, so no piece of it says anything alone. L windows, F
positions in a window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray
from maskdiff.encoders.tokens.tokenized import TokenWindows


@dataclass(frozen=True, eq=False)
class TokenGroups:
    """Runs of cells that are named together: `last` (L, F) is the last cell of each cell's run."""

    last: NDArray[np.int64]

    @classmethod
    def of(cls, codes: TokenWindows) -> TokenGroups:
        """Each token on its own, except that the unseen pieces of a word go together."""
        n_lines, width = codes.values.shape
        cell = np.broadcast_to(np.arange(width), (n_lines, width))
        new = codes.counts & ~codes.known
        if not new.any():
            return cls(cell)
        word = codes.per_cell(codes.tokens.word, padding=-1)
        begins = np.diff(word, axis=1, prepend=-1) != 0
        # An unseen piece goes with the one before it, if that is unseen too or begins the word.
        joins = new[:, 1:] & codes.counts[:, :-1] & ~begins[:, 1:] & (new[:, :-1] | begins[:, :-1])
        ends = np.where(np.column_stack([joins, np.full(n_lines, False)]), width, cell)
        return cls(np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1])

    @property
    def is_first(self) -> BoolArray:
        """Which cells begin a run, shape (L, F)."""
        begins = np.full(self.last.shape, True)
        begins[:, 1:] = self.last[:, 1:] != self.last[:, :-1]
        return begins

    def combine(self, values: FloatArray, by: np.ufunc = np.add) -> FloatArray:
        """What the cells of each run come to, on the first of them; 0 on the others, shape (L, F)."""
        first = self.is_first
        if first.all():
            return values
        combined = np.zeros(values.shape)
        combined[first] = by.reduceat(values.ravel(), np.flatnonzero(first))
        return combined

    def spans(self, codes: TokenWindows, line: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """The characters of the runs that begin in these cells, shape (n, 2)."""
        spans = codes.tokens.spans
        first, last = codes.token_at(line, cell), codes.token_at(line, self.last[line, cell])
        return np.column_stack([spans[first, 0], spans[last, 1]])
