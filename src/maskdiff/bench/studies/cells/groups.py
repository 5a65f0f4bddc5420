"""Values of columns as small integers, and how much one column says about another.

Independent of every detector: errors are planted, and the simple baselines count, by these groups. N rows, C columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from maskdiff.codes import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd

Codes = NDArray[np.int64]

# Numbers of more distinct values are cut into tenths.
_MOST_VALUES = 20


class ColumnGroups:
    """Each value of a category, and of numbers with few values, is a group; other numbers are cut at their tenths.

    Missing cells are a group where normal rows have them. What no normal row holds is the group `sizes_[j]`, numbers
    outside the range of the normal rows included.

    >>> import pandas as pd
    >>> groups = ColumnGroups().fit(pd.DataFrame({"pet": ["cat", "dog", None]}))
    >>> groups.codes(pd.DataFrame({"pet": ["dog", None, "bird"]}))[:, 0], groups.sizes_
    (array([1, 2, 3]), array([3]))
    """

    def fit(self, X: pd.DataFrame) -> Self:
        """Learn from normal rows."""
        self.columns_ = [_column(X.iloc[:, j]) for j in range(X.shape[1])]
        self.sizes_ = np.array([column.size for column in self.columns_], dtype=np.int64)
        return self

    def codes(self, X: pd.DataFrame) -> Codes:
        """The group of each cell, shape (N, C)."""
        found = [column.codes(X.iloc[:, j]) for j, column in enumerate(self.columns_)]
        return np.stack(found, axis=1) if found else np.empty((len(X), 0), dtype=np.int64)

    @property
    def missing(self) -> NDArray[np.int64]:
        """The group of missing cells in each column, shape (C,); -1 where there is none."""
        return np.array([column.size - 1 if column.has_missing else -1 for column in self.columns_])


def _column(cells: pd.Series[Any]) -> _Values | _Tenths:
    many = is_numeric_dtype(cells) and cells.nunique() > _MOST_VALUES
    return _Tenths(cells) if many else _Values(cells)


class _Values:
    """Every value is a group."""

    def __init__(self, cells: pd.Series[Any]) -> None:
        import pandas as pd

        self.values = pd.Index(cells.dropna().unique())
        self.has_missing = bool(cells.isna().any())
        self.size = len(self.values) + self.has_missing

    def codes(self, cells: pd.Series[Any]) -> Codes:
        found = np.asarray(self.values.get_indexer(cells), dtype=np.int64)
        found[found < 0] = self.size
        found[cells.isna().to_numpy()] = self.size - self.has_missing
        return found


class _Tenths:
    """Numbers between the same two tenths are a group."""

    def __init__(self, cells: pd.Series[Any]) -> None:
        numbers = cells.to_numpy(np.float64)
        self.has_missing = bool(np.isnan(numbers).any())
        edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, 11)))
        self.least, self.most, self.edges = edges[0], edges[-1], edges[1:-1]
        self.size = len(self.edges) + 1 + self.has_missing

    def codes(self, cells: pd.Series[Any]) -> Codes:
        numbers = cells.to_numpy(np.float64)
        found = np.searchsorted(self.edges, numbers, side="right").astype(np.int64)
        found[(numbers < self.least) | (numbers > self.most)] = self.size
        found[np.isnan(numbers)] = self.size - self.has_missing
        return found


def pair_counts(first: Codes, second: Codes, sizes: tuple[int, int]) -> NDArray[np.int64]:
    """How many rows hold each pair of groups, shape `sizes`."""
    n, m = map(int, sizes)
    return np.bincount(first * m + second, minlength=n * m).reshape(n, m)


def associations(codes: Codes, sizes: Codes) -> FloatArray:
    """Normalised mutual information of each two columns, shape (C, C), 0 to 1; 0 of a column with itself.

    What chance alone would show between so many groups in so many rows is taken off (Miller and Madow).
    """
    n_columns = len(sizes)
    found = np.zeros((n_columns, n_columns))
    for i in range(n_columns):
        for j in range(i):
            counts = pair_counts(codes[:, i], codes[:, j], (int(sizes[i]), int(sizes[j])))
            found[i, j] = found[j, i] = _association(counts)
    return found


def _association(counts: NDArray[np.int64]) -> float:
    n = int(counts.sum())
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    first, second, both = (_entropy(part / n) for part in (rows, columns, counts.ravel()))
    by_chance = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * n)
    shared = max(0.0, first + second - both - by_chance)
    return float(2 * shared / (first + second)) if first + second > 0 else 0.0


def _entropy(shares: FloatArray) -> float:
    some = shares[shares > 0]
    return float(-(some * np.log(some)).sum())


def identifies_rows(X: pd.DataFrame) -> BoolArray:
    """Columns in which no value repeats, fractions apart: nothing can be said about their cells, shape (C,)."""

    def unique(cells: pd.Series[Any]) -> bool:
        known = cells.dropna()
        fractions = is_numeric_dtype(cells) and bool((known % 1 != 0).any())
        return known.is_unique and len(known) > 1 and not fractions

    return np.array([unique(X.iloc[:, j]) for j in range(X.shape[1])], dtype=np.bool_)
