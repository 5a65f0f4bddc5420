"""Codes: encoded rows, and which of them are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.schema import BoolArray, FloatArray, IntArray, Schema

# What is kept of the distinct rows, and of how many rows at most.
_KEPT, _MOST_KEPT = ("_bare", "_distinct"), 1 << 19


class CellTexts(Protocol):
    """The texts of one column, one for each row."""

    def take(self, rows: Any) -> Self:
        """Those of these rows, in this order."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Encoded rows: `values` (N, F), and the schema that says what they stand for.

    `real` is False for padding (None: every cell is real). A row of a table has one field for each of its cells; a
    row of tokens has one field, the alphabet that all its positions share. `excess` (N, F), in nats, is what an unseen
    number costs more for how far it is beyond all numbers seen, 0 elsewhere (None: no cell is beyond). `texts` are what
    columns of free text say, by the place of the field: its code only says that there is a text.
    """

    values: IntArray
    schema: Schema
    real: BoolArray | None = field(default=None)
    excess: FloatArray | None = field(default=None)
    texts: Mapping[int, CellTexts] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.values)

    def __getstate__(self) -> dict[str, Any]:
        """The rows, without what was computed from them."""
        return {name: value for name, value in self.__dict__.items() if name not in _KEPT}

    @property
    def known(self) -> BoolArray:
        """Which cells hold a value seen in the normal rows, shape (N, F)."""
        known: BoolArray = self.values < self.schema.compact_sizes
        return known

    @property
    def is_new(self) -> BoolArray:
        """Which cells of a table hold a value never seen where most are known, or beyond the range, shape (N, F)."""
        new = ~self.known & ~self.schema.news_is_usual
        return new if self.excess is None else new | (self.excess > 0)

    @property
    def is_tokens(self) -> bool:
        """Whether these are rows of tokens: they share one alphabet, and may be padded."""
        return len(self.schema) == 1 and (self.real is not None or self.values.shape[1] > 1)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many cells of each row are real, shape (N,)."""
        if self.real is None:
            return np.full(len(self), self.values.shape[1], np.int64)
        lengths: NDArray[np.int64] = self.real.sum(axis=1, dtype=np.int64)
        return lengths

    def take(self, rows: IntArray | slice | Sequence[int] | BoolArray) -> Codes:
        """These rows, in this order."""
        real = None if self.real is None else self.real[rows]
        excess = None if self.excess is None else self.excess[rows]
        texts = None if self.texts is None else {at: cells.take(rows) for at, cells in self.texts.items()}
        return replace(self, values=self.values[rows], real=real, excess=excess, texts=texts)

    def without_excess(self) -> Codes:
        """The same codes, as reconstructors see them: beyond the range is beyond the range, and a text is a text."""
        return self if self.excess is None and self.texts is None else self._bare

    @cached_property
    def _bare(self) -> Codes:
        return replace(self, excess=None, texts=None)

    def distinct(self) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
        """The distinct rows, where each row is among them, and how often each occurs."""
        # Several sources of evidence ask for the same rows. Of very many the answer is too large to keep.
        return self._distinct if len(self) <= _MOST_KEPT else self._find_distinct()

    @cached_property
    def _distinct(self) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
        return self._find_distinct()

    def _find_distinct(self) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
        if len(self) == 1:
            return self, np.zeros(1, np.int64), np.ones(1, np.int64)
        compared = self.values if self.real is None else np.concatenate([self.values, self.real], axis=1)
        if self.excess is not None:
            as_bytes = (np.ascontiguousarray(part).view(np.uint8) for part in (compared, self.excess))
            compared = np.concatenate([*as_bytes], axis=1)
        first, inverse, counts = distinct_rows(compared)
        return self.take(first), inverse, counts


def distinct_rows(values: IntArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Index of the first of each set of equal rows, each row's set, and the sets' sizes.

    Rows are compared as strings of bytes, which is exact and takes one sort for any number of columns.
    """
    rows = np.ascontiguousarray(values)
    if rows.shape[1] == 0 or len(rows) == 0:
        n = len(rows)
        return np.zeros(min(n, 1), np.int64), np.zeros(n, np.int64), np.full(min(n, 1), n, np.int64)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    _, first, inverse, counts = np.unique(as_bytes, return_index=True, return_inverse=True, return_counts=True)
    return first, inverse.reshape(-1), counts
