"""A frequency rule: a cell is as odd as its value is rare in its column, a row as odd as its rarest cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from maskdiff.bench.studies.cells.groups import ColumnGroups
from maskdiff.codes import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


class FrequencyRule:
    """Counts of every value; half a row more for each, so that a value never seen is odd and not infinitely so."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: pd.DataFrame) -> Self:
        self.groups_ = ColumnGroups().fit(X)
        codes = self.groups_.codes(X)
        counts = [np.bincount(codes[:, j], minlength=size + 1) for j, size in enumerate(self.groups_.sizes_)]
        self.surprise_ = [-np.log((count + 0.5) / (len(X) + 0.5 * len(count))) for count in counts]
        return self

    def oddness(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        codes = self.groups_.codes(X)
        cells = np.stack([surprise[codes[:, j]] for j, surprise in enumerate(self.surprise_)], axis=1)
        return cells.max(axis=1), cells

    def holds_expected(self, X: pd.DataFrame, column: IntArray) -> BoolArray:
        """Whether each row's cell in its column holds the most frequent value."""
        usual = np.array([surprise.argmin() for surprise in self.surprise_])
        codes = self.groups_.codes(X)
        return np.asarray(codes[np.arange(len(X)), column] == usual[column])
