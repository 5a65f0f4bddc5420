"""Detectors that see numbers as they are: standardised beside one-hot categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from maskdiff.codes import FloatArray

if TYPE_CHECKING:
    import pandas as pd


class OnNumbers:
    """Columns that scikit-learn can read; an empty number is the median of the normal rows."""

    def fit(self, X: pd.DataFrame) -> Self:
        """Learn from normal rows."""
        seen = _one_hot(X)
        self.columns_, self.middle_ = seen.columns, seen.median()
        self.scaler_ = StandardScaler().fit(self._plain(X))
        self._fit(self._numbers(X))
        return self

    def anomaly_score(self, X: pd.DataFrame) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        return self._score(self._numbers(X))

    def _fit(self, rows: FloatArray) -> None:
        raise NotImplementedError

    def _score(self, rows: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _numbers(self, X: pd.DataFrame) -> Any:
        return self.scaler_.transform(self._plain(X))

    def _plain(self, X: pd.DataFrame) -> Any:
        return _one_hot(X).reindex(columns=self.columns_, fill_value=0).fillna(self.middle_).to_numpy(float)


class NumbersForest(OnNumbers):
    """An isolation forest of 300 trees."""

    def __init__(self, *, seed: int = 0, device: str = "cpu") -> None:
        self.seed = seed

    def _fit(self, rows: FloatArray) -> None:
        self.model_ = IsolationForest(n_estimators=300, random_state=self.seed).fit(rows)

    def _score(self, rows: FloatArray) -> FloatArray:
        scores: FloatArray = -self.model_.score_samples(rows)
        return scores


class NumbersNeighbours(OnNumbers):
    """The mean distance to the 5 nearest normal rows; nothing is drawn."""

    def __init__(self, *, seed: int = 0, device: str = "cpu") -> None:
        self.k = 5

    def _fit(self, rows: FloatArray) -> None:
        self.model_ = NearestNeighbors(n_neighbors=self.k).fit(rows)

    def _score(self, rows: FloatArray) -> FloatArray:
        scores: FloatArray = self.model_.kneighbors(rows)[0].mean(axis=1)
        return scores


class NumbersLof(OnNumbers):
    """The local outlier factor with 20 neighbours, among at most 10,000 distinct normal rows, drawn at random.

    Equal rows would be infinitely dense, and every row near them infinitely odd.
    """

    most_rows = 10_000

    def __init__(self, *, seed: int = 0, device: str = "cpu") -> None:
        self.seed = seed

    def _fit(self, rows: FloatArray) -> None:
        rows = np.unique(rows, axis=0)
        if len(rows) > self.most_rows:
            rows = np.random.default_rng(self.seed).choice(rows, self.most_rows, replace=False)
        self.model_ = LocalOutlierFactor(n_neighbors=min(20, len(rows) - 1), novelty=True).fit(rows)

    def _score(self, rows: FloatArray) -> FloatArray:
        scores: FloatArray = -self.model_.score_samples(rows)
        return scores


def _one_hot(X: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.get_dummies(X)
