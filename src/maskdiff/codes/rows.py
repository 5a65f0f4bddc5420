"""Codes: encoded rows, and which of them are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.schema import BoolArray, IntArray, Schema


@dataclass(frozen=True, eq=False)
class Codes:
    """Encoded rows: `values` (N, F), and which cells are known to the schema.

    `known` is False for unseen values; `real` is False for padding (None: every cell is real).
    """

    values: IntArray
    schema: Schema
    real: BoolArray | None = field(default=None)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def known(self) -> BoolArray:
        return self.values < self.schema.sizes

    def take(self, rows: IntArray | slice | Sequence[int] | BoolArray) -> Codes:
        """These rows, in this order."""
        return replace(self, values=self.values[rows], real=None if self.real is None else self.real[rows])

    def distinct(self) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
        """The distinct rows, where each row is among them, and how often each occurs."""
        told_apart = self.values if self.real is None else np.concatenate([self.values, self.real], axis=1)
        first, inverse, counts = distinct_rows(told_apart)
        return self.take(first), inverse, counts


def distinct_rows(values: IntArray) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Index of the first of each set of equal rows, each row's set, and the sets' sizes.

    Rows are compared as strings of bytes, which is exact and needs one sort whatever the number of columns.
    """
    rows = np.ascontiguousarray(values)
    if rows.shape[1] == 0 or len(rows) == 0:
        n = len(rows)
        return np.zeros(min(n, 1), np.int64), np.zeros(n, np.int64), np.full(min(n, 1), n, np.int64)
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
    _, first, inverse, counts = np.unique(as_bytes, return_index=True, return_inverse=True, return_counts=True)
    return first, inverse.reshape(-1), counts
