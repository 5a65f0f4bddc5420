"""OutlierTree: decision trees that name a cell, and the condition under which its value is an outlier.

An extra, as isotree is: it takes the table as it is, numbers as numbers and everything else as categories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pandas.api.types import is_numeric_dtype

from maskdiff.codes import FloatArray
from maskdiff.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


class OutlierTrees:
    """OutlierTree with its defaults; a cell is as odd as the outliers of its group are few, -log of their share.

    It names at most one cell of a row, and most rows have none. A category never seen is missing to it.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, X: pd.DataFrame) -> Self:
        try:
            from outliertree import OutlierTree
        except ImportError as error:
            raise MissingExtraError("outliertree", needs="outliertree") from error
        import pandas as pd

        categories = {j: X.iloc[:, j] for j in range(X.shape[1]) if not is_numeric_dtype(X.iloc[:, j])}
        self.levels_ = {j: pd.Index(cells.dropna().unique()) for j, cells in categories.items()}
        trees = OutlierTree(nthreads=1)
        trees.fit(self._readable(X), outliers_print=0, return_outliers=False)
        self.trees_: Any = trees
        return self

    def oddness(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        found = self.trees_.predict(self._readable(X), outliers_print=0)
        share = found["outlier_score"].to_numpy(np.float64)
        cells = np.full(X.shape, -np.inf)
        for row in np.flatnonzero(~np.isnan(share)):
            cells[row, int(found["suspicious_value"].iloc[row]["column"][1:])] = -np.log(share[row])
        return np.maximum(cells.max(axis=1), 0.0), cells

    def _readable(self, X: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        def column(j: int) -> Any:
            cells = X.iloc[:, j]
            if j not in self.levels_:
                return cells.to_numpy(np.float64)
            return pd.Categorical.from_codes(self.levels_[j].get_indexer(pd.Index(cells)), categories=self.levels_[j])

        return pd.DataFrame({f"c{j}": column(j) for j in range(X.shape[1])})
