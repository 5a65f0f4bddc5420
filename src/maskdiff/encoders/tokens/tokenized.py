"""Rows that were cut into tokens, once, with all that encoding, explaining and shading need to know of them.

N rows, T tokens of all rows together, L windows, F positions in a window.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.codes.windows import Windows, ranges

# Every character that str.strip() takes off.
_BLANKS = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class TokenizedRows:
    """The tokens of some rows, one row after the other.

    `texts` (N,) are the rows as a person reads them, `lengths` (N,) their numbers of tokens. `symbols` (T,) are what
    the alphabet is made of, `offsets` (T, 2) the characters of its text that each token stands for, from start to end
    (excluded), and `word` (T,) the number of the word it is a piece of, counted from the beginning of its text.
    """

    texts: NDArray[np.object_]
    lengths: NDArray[np.int64]
    symbols: NDArray[Any]
    offsets: NDArray[np.int64]
    word: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return len(self.texts)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Where each row's tokens begin, shape (N,)."""
        first: NDArray[np.int64] = np.cumsum(self.lengths) - self.lengths
        return first

    def take(self, rows: ArrayLike) -> TokenizedRows:
        """Only these rows, in this order: positions, or one boolean per row."""
        chosen = np.arange(self.n_rows)[np.asarray(rows)]
        lengths = self.lengths[chosen]
        tokens = ranges(self.first[chosen], lengths)
        return TokenizedRows(self.texts[chosen], lengths, self.symbols[tokens], self.offsets[tokens], self.word[tokens])

    def cut_after(self, length: int) -> TokenizedRows:
        """The first tokens of every row, at most so many; texts stay whole."""
        lengths = np.minimum(self.lengths, length)
        tokens = ranges(self.first, lengths)
        return TokenizedRows(self.texts, lengths, self.symbols[tokens], self.offsets[tokens], self.word[tokens])

    @cached_property
    def spans(self) -> NDArray[np.int64]:
        """The offsets without blanks at either end, shape (T, 2); a token that is all blanks keeps its own.

        A character that takes several tokens has several equal spans.
        """
        size = np.array([len(text) for text in self.texts], dtype=np.int64)
        before = np.repeat(np.cumsum(size) - size, self.lengths)[:, None]
        start, end = (self.offsets + before).T
        blank = np.isin(_code_points("".join(self.texts)), _BLANKS)
        place = np.arange(len(blank) + 1)
        # The first character from here on that is no blank, and the place behind the last one up to here.
        following = np.minimum.accumulate(np.where(np.append(blank, False), len(blank), place)[::-1])[::-1]
        preceding = np.maximum.accumulate(np.where(np.insert(blank, 0, False), 0, place))
        trimmed = np.column_stack([following[start], preceding[end]])
        spans: NDArray[np.int64] = np.where(following[start, None] < end[:, None], trimmed - before, self.offsets)
        return spans

    def slices(self, rows: ArrayLike, spans: NDArray[np.int64]) -> list[str]:
        """These characters of these rows' texts, one for each row and span."""
        triples = zip(np.asarray(rows).tolist(), spans.tolist(), strict=True)
        return [self.texts[row][start:end] for row, (start, end) in triples]


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenWindows(Windows):
    """Windows of codes together with the tokens they stand for."""

    tokens: TokenizedRows

    @classmethod
    def of(cls, windows: Windows, tokens: TokenizedRows) -> TokenWindows:
        """These windows, cut out of these tokens."""
        return cls(**{f.name: getattr(windows, f.name) for f in fields(windows)}, tokens=tokens)

    def without_tokens(self) -> Windows:
        """The codes alone, for what is held long."""
        return Windows(**{f.name: getattr(self, f.name) for f in fields(Windows)})

    def take_rows(self, rows: NDArray[np.int64]) -> Self:
        """All windows of these rows, which are numbered anew in this order, and their tokens."""
        return replace(super().take_rows(rows), tokens=self.tokens.take(rows))

    def token_at(self, line: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of all tokens is in each of these cells."""
        at: NDArray[np.int64] = self.tokens.first[self.row[line]] + self.start[line] + cell
        return at

    def per_cell(self, of_tokens: NDArray[Any], padding: Any) -> NDArray[Any]:
        """What each token has, at its cells, shape (L, F)."""
        assert self.real is not None
        found = np.full(self.values.shape, padding, dtype=of_tokens.dtype)
        found[self.real] = of_tokens[self.token_at(*np.nonzero(self.real))]
        return found


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
