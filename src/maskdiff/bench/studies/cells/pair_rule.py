"""Counts of pairs: a cell is as odd as its value is rare beside the value of any one other cell of its row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.bench.studies.cells.groups import ColumnGroups
from maskdiff.codes import FloatArray

if TYPE_CHECKING:
    import pandas as pd

# So many rows' worth of the column's own frequencies are added to those beside a value.
_WEIGHT = 10.0


class PairRule:
    """The smallest smoothed frequency of a cell's value given any other cell, as surprise; a row is its oddest cell."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: pd.DataFrame) -> Self:
        self.groups_ = ColumnGroups().fit(X)
        self.codes_ = self.groups_.codes(X)
        widths = self.groups_.sizes_ + 1
        self.counts_ = [np.bincount(self.codes_[:, j], minlength=width) for j, width in enumerate(widths)]
        return self

    def oddness(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        codes, n = self.groups_.codes(X), len(self.codes_)
        own = [count[codes[:, j]] for j, count in enumerate(self.counts_)]
        share = [(count + 0.5) / (n + 0.5 * len(self.counts_[j])) for j, count in enumerate(own)]
        cells = np.stack([-np.log(each) for each in share], axis=1)  # what stands for a table of one column
        for i in range(codes.shape[1]):
            for j in range(i):
                together = self._together(codes, i, j)
                for cell, beside in ((i, j), (j, i)):
                    given = (together + _WEIGHT * share[cell]) / (own[beside] + _WEIGHT)
                    cells[:, cell] = np.maximum(cells[:, cell], -np.log(given))
        return cells.max(axis=1), cells

    def _together(self, codes: NDArray[np.int64], i: int, j: int) -> NDArray[np.int64]:
        """How many normal rows hold each row's pair of values in two columns, shape (N,)."""
        width = int(self.groups_.sizes_[j]) + 1
        seen, counts = np.unique(self.codes_[:, i] * width + self.codes_[:, j], return_counts=True)
        pairs = codes[:, i] * width + codes[:, j]
        place = np.searchsorted(seen, pairs).clip(max=len(seen) - 1)
        return np.where(seen[place] == pairs, counts[place], 0)
