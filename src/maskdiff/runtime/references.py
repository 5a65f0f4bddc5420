"""Rows compared with normal ones: a kernel that lets them vote, and the distance to the nearest.

B rows, K views, F fields, N distinct normal rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .columns import Rows
from .views import Masks

_LEAST = 1e-30
# Up to so many fields the kernel answers from the subsets of fields that normal rows agree on.
_NARROW = 12


class Kernel:
    """Normal rows vote, each by how well it agrees with the visible cells."""

    def __init__(self, codes: np.ndarray, counts: np.ndarray, bandwidth: float) -> None:
        self.codes, self.counts, self.bandwidth = codes.astype(np.int64), counts.astype(np.float64), bandwidth

    def log_prob(self, codes: np.ndarray, known: np.ndarray, masks: Masks) -> np.ndarray:
        """log p(true code | visible cells), (B, K, F)."""
        answer = self._from_subsets if codes.shape[1] <= _NARROW else self._from_votes
        parts = [answer(row, ~masks.hidden & seen) for row, seen in zip(codes, known, strict=True)]
        return np.log(np.maximum(np.stack(parts), _LEAST)) if parts else np.empty((0, *masks.hidden.shape))

    def _from_subsets(self, row: np.ndarray, visible: np.ndarray) -> np.ndarray:
        n, q = len(row), np.exp(-self.bandwidth)
        bits = 1 << np.arange(n)
        agree = np.bincount((self.codes == row) @ bits, self.counts, minlength=1 << n)
        for at in range(n):  # how many agree on each subset: those that agree on more do, too
            pairs = agree.reshape(-1, 2, 1 << at)
            pairs[:, 0] += pairs[:, 1]
        for at in range(n):  # a field that agrees counts 1, one that does not q
            pairs = agree.reshape(-1, 2, 1 << at)
            pairs[:, 1] = (1 - q) * pairs[:, 1] + q * pairs[:, 0]
        seen = visible @ bits
        total = np.maximum(agree[seen], np.finfo(np.float64).tiny)
        ratio = np.stack([agree[seen | 1 << at] / total for at in range(n)], axis=1)
        return np.asarray((ratio - q) / (1 - q))

    def _from_votes(self, row: np.ndarray, visible: np.ndarray) -> np.ndarray:
        agree = (self.codes == row).astype(np.float64)
        log_weight = self.bandwidth * agree @ visible.T + np.log(self.counts)[:, None]
        weight = np.exp(log_weight - log_weight.max(axis=0))
        return np.asarray((agree.T @ weight / weight.sum(axis=0)).T)


class NearestRows:
    """The mean distance to the k nearest normal rows, shared out on the cells."""

    def __init__(self, arrays: Mapping[str, np.ndarray], k: int) -> None:
        self.codes, self.counts, self.k = arrays["codes"].astype(np.int64), arrays["counts"].astype(np.int64), k
        self.places, self.apart = arrays["places"].astype(np.float64), arrays["apart"].astype(np.float64)
        self._near_places = self._placed(self.codes)

    def differences(self, codes: np.ndarray, rows: Rows) -> np.ndarray:
        """What each cell adds, (B, F)."""
        parts = [self._of_row(*pair) for pair in zip(codes, rows.known, strict=True)]
        return np.stack(parts) * (1 + rows.excess) if parts else np.empty(codes.shape)

    def _of_row(self, row: np.ndarray, known: np.ndarray) -> np.ndarray:
        between = np.abs(self._near_places - self._placed(row))
        differ = np.where(np.isnan(between), (self.codes != row) * self.apart, between)
        differ = np.where(known, differ, self.apart)
        nearest = np.argsort(differ.sum(axis=1), kind="stable")[: self.k]
        number = self.counts[nearest]
        number = np.minimum(number, np.maximum(self.k - (np.cumsum(number) - number), 0))
        return np.asarray((number / number.sum()) @ differ[nearest])

    def _placed(self, codes: np.ndarray) -> np.ndarray:
        """Where codes lie, (..., F); NaN for those that have no place."""
        last = self.places.shape[1] - 1
        return np.asarray(self.places[np.arange(len(self.places)), np.minimum(codes, last)])
