"""An isolation forest finds the rows, and the largest z-score names the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pandas.api.types import is_numeric_dtype

from maskdiff.bench.baselines.numbers import NumbersForest
from maskdiff.bench.studies.cells.groups import ColumnGroups
from maskdiff.codes import FloatArray

if TYPE_CHECKING:
    import pandas as pd

# A value of fewer rows is rare.
_FEWEST = 5


class ForestAndZScores:
    """scikit-learn's forest on standardised numbers and one-hot categories; it has nothing to say about single cells.

    The z-score of a number is its distance from the mean in standard deviations; that of a category is the same for the
    one-hot column of its value, which is the larger the rarer the value is. To the forest all rare values of a column,
    and those never seen, are one: typos would give a dirty file thousands of columns.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: pd.DataFrame) -> Self:
        self.numbers_ = {
            j: (float(X.iloc[:, j].mean()), float(X.iloc[:, j].std()) or 1.0)
            for j in range(X.shape[1])
            if is_numeric_dtype(X.iloc[:, j])
        }
        self.common_ = [_common(X.iloc[:, j]) for j in range(X.shape[1])]
        self.forest_ = NumbersForest(seed=self.seed).fit(self._folded(X))
        self.groups_ = ColumnGroups().fit(X)
        codes = self.groups_.codes(X)
        counts = [np.bincount(codes[:, j], minlength=size + 1) for j, size in enumerate(self.groups_.sizes_)]
        shares = [(count + 0.5) / (len(X) + 0.5 * len(count)) for count in counts]
        self.z_scores_ = [np.sqrt((1 - share) / share) for share in shares]
        return self

    def oddness(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        codes = self.groups_.codes(X)
        cells = np.stack([z_score[codes[:, j]] for j, z_score in enumerate(self.z_scores_)], axis=1)
        for j, (mean, deviation) in self.numbers_.items():
            distance = np.abs(X.iloc[:, j].to_numpy(np.float64) - mean) / deviation
            cells[:, j] = np.where(np.isnan(distance), cells[:, j], distance)
        return self.forest_.anomaly_score(self._folded(X)), cells

    def _folded(self, X: pd.DataFrame) -> pd.DataFrame:
        """The table for the forest, columns by number."""
        import pandas as pd

        def cells(j: int) -> pd.Series[Any]:
            column = X.iloc[:, j]
            return column if j in self.numbers_ else column.where(column.isin(self.common_[j]) | column.isna(), "rare")

        return pd.DataFrame({f"c{j}": cells(j) for j in range(X.shape[1])})


def _common(cells: pd.Series[Any]) -> pd.Index[Any]:
    counts = cells.value_counts()
    return counts.index[counts >= _FEWEST]
