"""The paper's kernel as most would write it down: views drawn one by one, and Eq. 7 column by column.

A yardstick for speed: nothing here is shared with the library. N reference rows, B rows to score, F columns.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.codes import FloatArray

_LEAST = 1e-6
_ROWS_AT_ONCE = 256


class PlainEquations:
    """Mean surprise of hidden cells (Eq. 5 and 6) under the Hamming kernel of Eq. 7, on integer codes."""

    def __init__(
        self,
        levels: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9),
        views: int = 8,
        *,
        most_references: int = 2000,
        seed: int = 0,
    ) -> None:
        self.levels, self.views, self.most_references, self.seed = levels, views, most_references, seed

    def fit(self, X: Matrix) -> Self:
        """Keep normal rows to compare with, at most `most_references`."""
        rng, codes = np.random.default_rng(self.seed), np.asarray(X, dtype=np.int64)
        self.references_ = codes[rng.permutation(len(codes))[: self.most_references]]
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """The score of each row, shape (B,); higher = more anomalous."""
        codes = np.asarray(X, dtype=np.int64)
        parts = [self._score(codes[at : at + _ROWS_AT_ONCE]) for at in range(0, len(codes), _ROWS_AT_ONCE)]
        return np.concatenate([np.empty(0), *parts])

    def _score(self, codes: NDArray[np.int64]) -> FloatArray:
        rng, n_columns = np.random.default_rng(self.seed), codes.shape[1]
        total = np.zeros(len(codes))
        for level in self.levels:
            for _ in range(self.views):
                hidden = np.asarray(rng.random(n_columns) < level)
                hidden[rng.integers(n_columns)] |= not hidden.any()
                total += self._view_surprise(codes, hidden)
        return total / (len(self.levels) * self.views)

    def _view_surprise(self, codes: NDArray[np.int64], hidden: NDArray[np.bool_]) -> FloatArray:
        """Eq. 5: the mean surprise of the hidden cells, given the visible ones."""
        distance = np.zeros((len(codes), len(self.references_)))
        for column in np.flatnonzero(~hidden):
            distance += codes[:, column, None] != self.references_[None, :, column]
        weight = np.exp(-distance)
        surprise = np.zeros(len(codes))
        for column in np.flatnonzero(hidden):
            same = codes[:, column, None] == self.references_[None, :, column]
            surprise -= np.log(np.maximum((weight * same).sum(axis=1) / weight.sum(axis=1), _LEAST))
        return np.asarray(surprise / hidden.sum(), dtype=np.float64)


def plain_equations(*, seed: int = 0, device: str = "cpu") -> PlainEquations:
    """With five levels of eight views, as the library has them, always on the CPU."""
    return PlainEquations(seed=seed)
