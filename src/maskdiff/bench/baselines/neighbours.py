"""Hamming k-nearest neighbours: in how many fields a row differs from the normal rows most like it.

N normal rows, B rows to score, W one-hot columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.bench.baselines.networks import torch_device
from maskdiff.codes import FloatArray, distinct_rows
from maskdiff.errors import SettingError


class HammingNeighbours:
    """Mean Hamming distance to the k nearest normal rows, equal rows counted as often as they occur.

    Works on integer codes; a code not among the normal ones differs from all of them.
    """

    # Similarities held at once: 32 million floats are 128 MB.
    at_once = 2**25
    # The normal rows are held as ones and zeros up to this many of them: 1 GB.
    most_one_hot = 2**28

    def __init__(self, k: int = 25, *, device: str = "auto") -> None:
        if k < 1:
            raise SettingError(f"k must be at least 1; got {k}.")
        self.k = k
        self.device = device

    def fit(self, X: Matrix) -> Self:
        """Keep the distinct normal rows and how often each occurs."""
        codes = np.asarray(X, dtype=np.int64)
        self.sizes_ = codes.max(axis=0) + 1
        first, _, counts = distinct_rows(codes)
        self.rows_ = codes[first]
        self.counts_ = counts
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """Mean number of fields that differ, shape (B,); higher = more anomalous."""
        device = torch_device(self.device)
        codes = np.asarray(X, dtype=np.int64)
        counts_N = torch.as_tensor(self.counts_, device=device)
        fits = len(self.rows_) * int(self.sizes_.sum()) <= self.most_one_hot
        same = self._by_products(device) if fits else self._one_by_one(device)
        parts = [
            self._mean_distance(same(chunk), counts_N, codes.shape[1]).cpu()
            for chunk in np.array_split(codes, max(1, len(codes) * len(self.rows_) // self.at_once))
        ]
        return torch.cat(parts).numpy()

    def _by_products(self, device: torch.device) -> Callable[[NDArray[np.int64]], Tensor]:
        """In how many fields rows agree with each normal row, shape (B, N)."""
        normal_WN = self._one_hot(self.rows_, device).T.contiguous()
        return lambda codes: self._one_hot(codes, device) @ normal_WN

    def _one_by_one(self, device: torch.device) -> Callable[[NDArray[np.int64]], Tensor]:
        """The same for codes so many that ones and zeros would not fit in memory."""
        normal_NF = torch.as_tensor(self.rows_, dtype=torch.float32, device=device)
        n_fields = normal_NF.shape[1]
        return lambda codes: n_fields - torch.cdist(torch.as_tensor(codes).float().to(device), normal_NF, p=0)

    def _mean_distance(self, same_BN: Tensor, counts_N: Tensor, n_fields: int) -> Tensor:
        # Each distinct row stands for at least one row, so k distinct ones are always enough.
        nearest = same_BN.topk(min(self.k, same_BN.shape[1]), dim=1)
        taken_upto = counts_N[nearest.indices].cumsum(dim=1).clamp_max(self.k)
        taken = taken_upto.diff(dim=1, prepend=torch.zeros_like(taken_upto[:, :1])).double()
        return n_fields - (nearest.values.double() * taken).sum(dim=1) / taken.sum(dim=1)

    def _one_hot(self, codes: NDArray[np.int64], device: torch.device) -> Tensor:
        """The known codes, one column each; a row has no column for a code that is not known, shape (B, W)."""
        first = torch.as_tensor(np.cumsum(self.sizes_) - self.sizes_, device=device)
        values = torch.as_tensor(codes, device=device)
        known = values < torch.as_tensor(self.sizes_, device=device)
        columns = torch.zeros((len(codes), int(self.sizes_.sum())), device=device)
        return columns.scatter_(1, torch.where(known, values, 0) + first, known.float())


def hamming_neighbours(k: int = 25, *, seed: int = 0, device: str = "auto") -> HammingNeighbours:
    """With the paper's 25 neighbours; nothing is drawn."""
    return HammingNeighbours(k, device=device)
