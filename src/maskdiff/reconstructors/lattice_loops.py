"""The lattice of a narrow table's subsets, compiled (see `compiled`). Letters as in `kernel_lattice`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.reconstructors.compiled import compiled
from maskdiff.reconstructors.kernel_patterns import find_patterns

Array = NDArray[Any]


def count_subsets(codes_FN: Array, counts_N: Array, rows_BF: Array, count_BS: Array) -> None:
    """Fill in how many reference rows agree with each row on each subset: their patterns and all that hold them."""
    _count(codes_FN, counts_N, rows_BF, np.empty(len(counts_N), np.uint16), count_BS)


@compiled
def _count(codes_FN: Array, counts_N: Array, rows_BF: Array, pattern_N: Array, count_BS: Array) -> None:
    n_fields, n_subsets = len(codes_FN), count_BS.shape[1]
    for b in range(len(rows_BF)):
        find_patterns(codes_FN, rows_BF[b], 0, n_fields, pattern_N)
        count_S = count_BS[b]
        for s in range(n_subsets):
            count_S[s] = 0
        for n in range(len(pattern_N)):
            count_S[pattern_N[n]] += counts_N[n]
        for j in range(n_fields):
            for start in range(0, n_subsets, 2 << j):
                without, with_j = count_S[start : start + (1 << j)], count_S[start + (1 << j) : start + (2 << j)]
                for s in range(len(without)):
                    without[s] += with_j[s]


@compiled
def answer_subsets(weight_BS: Array, seen_MK: Array, q: float, least: float, answer_BKF: Array) -> None:
    """Fill in p(true code | visible cells); `weight_BS` holds the counts, and G afterwards."""
    n_fields, n_subsets = answer_BKF.shape[2], weight_BS.shape[1]
    for b in range(len(weight_BS)):
        weight_S, seen_K, answer_KF = weight_BS[b], seen_MK[b if len(seen_MK) > 1 else 0], answer_BKF[b]
        for j in range(n_fields):
            for start in range(0, n_subsets, 2 << j):
                without, with_j = weight_S[start : start + (1 << j)], weight_S[start + (1 << j) : start + (2 << j)]
                for s in range(len(without)):
                    with_j[s] = (1 - q) * with_j[s] + q * without[s]
        for k in range(len(seen_K)):
            scale = 1 / (max(weight_S[seen_K[k]], least) * (1 - q))
            for j in range(n_fields):
                answer_KF[k, j] = weight_S[seen_K[k] | 1 << j] * scale - q / (1 - q)
