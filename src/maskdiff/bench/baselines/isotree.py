"""Isolation forest with native categorical splits and missing values, as isotree has it.

Not among the paper's baselines: it is what users with categories pick today. It takes the table as it is, numbers as
numbers and everything else as categories, without the encoder of the other baselines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd


class CategoricalForest:
    """isotree's isolation forest with its defaults."""

    def __init__(self, *, trees: int = 500, seed: int = 0, threads: int = 1) -> None:
        self.trees = trees
        self.seed = seed
        self.threads = threads

    def fit(self, X: pd.DataFrame) -> Self:
        """Learn from normal rows."""
        try:
            from isotree import IsolationForest
        except ImportError as error:
            raise MissingExtraError("isotree", needs="isotree") from error
        import pandas as pd
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        categorical = [name for name in X.columns if not is_numeric_dtype(X[name]) or is_bool_dtype(X[name])]
        self.levels_ = {name: pd.Index(X[name].dropna().astype(object).unique()) for name in categorical}
        forest = IsolationForest(ntrees=self.trees, random_seed=self.seed, nthreads=self.threads)
        self.forest_: Any = forest.fit(self._readable(X))
        return self

    def anomaly_score(self, X: pd.DataFrame) -> FloatArray:
        """isotree's standardised depth, shape (N,); higher = more anomalous."""
        return np.asarray(self.forest_.predict(self._readable(X)), dtype=np.float64)

    def _readable(self, X: pd.DataFrame) -> pd.DataFrame:
        """Numbers as floats, the rest as the categories of the normal rows; a value never seen is missing."""
        import pandas as pd

        def column(name: Any) -> Any:
            if name not in self.levels_:
                return X[name].astype(np.float64)
            levels = self.levels_[name]
            return pd.Categorical.from_codes(levels.get_indexer(X[name].astype(object)), categories=levels)

        return pd.DataFrame({name: column(name) for name in X.columns}, index=X.index)


def categorical_forest(*, seed: int = 0, device: str = "cpu") -> CategoricalForest:
    """With isotree's defaults, always on the CPU."""
    return CategoricalForest(seed=seed)
