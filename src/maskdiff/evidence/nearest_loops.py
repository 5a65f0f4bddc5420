"""The nearest normal rows, compiled (see `reconstructors.compiled`).

Distances are summed field by field over a block of normal rows that stays in a processor's cache, and a row is placed
among the nearest only if it is nearer than the last of them, which few are. B rows, N normal rows, F fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.reconstructors.compiled import compiled

Array = NDArray[Any]

_BLOCK = 2048


def find_nearest(
    codes_FN: Array, rows_BF: Array, known_BF: Array, n_ordered_F: Array, weight_F: Array, place_Bk: Array
) -> None:
    """Fill in the places of the nearest normal rows, nearest first, and of rows equally far the first."""
    nearest_k, distance_N = np.empty(place_Bk.shape[1], np.float32), np.empty(_BLOCK, np.float32)
    _find(codes_FN, rows_BF, known_BF, n_ordered_F, weight_F, place_Bk, nearest_k, distance_N)


@compiled
def add_differences(
    codes_NF: Array,
    counts_N: Array,
    rows_BF: Array,
    known_BF: Array,
    n_ordered_F: Array,
    weight_F: Array,
    place_Bk: Array,
    k: int,
    difference_BF: Array,
) -> None:
    """Fill in how much each field differs from k of these normal rows, equal ones counted each."""
    for b in range(len(rows_BF)):
        n_counted = 0
        for i in range(place_Bk.shape[1]):
            near_F, number = codes_NF[place_Bk[b, i]], min(counts_N[place_Bk[b, i]], k - n_counted)
            n_counted += number
            for j in range(len(near_F)):
                n_ordered, code, near = n_ordered_F[j], np.int64(rows_BF[b, j]), np.int64(near_F[j])
                if not known_BF[b, j] or (code != near and max(code, near) >= n_ordered):
                    difference_BF[b, j] += number * max(n_ordered, 1)
                else:
                    difference_BF[b, j] += number * abs(code - near)
        for j in range(len(weight_F)):
            difference_BF[b, j] = difference_BF[b, j] / n_counted * weight_F[j]


@compiled
def _find(
    codes_FN: Array,
    rows_BF: Array,
    known_BF: Array,
    n_ordered_F: Array,
    weight_F: Array,
    place_Bk: Array,
    nearest_k: Array,
    distance_N: Array,
) -> None:
    for b in range(len(rows_BF)):
        n_found = 0
        for first in range(0, codes_FN.shape[1], len(distance_N)):
            n_here = min(len(distance_N), codes_FN.shape[1] - first)
            for n in range(n_here):
                distance_N[n] = 0
            for j in range(len(codes_FN)):
                if known_BF[b, j]:  # what is unseen is equally far from all
                    codes_N = codes_FN[j, first : first + n_here]
                    _add_field(codes_N, rows_BF[b, j], n_ordered_F[j], weight_F[j], distance_N)
            n_found = _place(distance_N, first, n_here, n_found, nearest_k, place_Bk[b])


@compiled
def _add_field(codes_N: Array, code: int, n_ordered: int, weight: float, distance_N: Array) -> None:
    """Add what a field differs by."""
    none = np.float32(0)
    if code >= n_ordered:  # a category, or a code outside the order
        most = np.float32(weight * max(n_ordered, 1))
        for n in range(len(codes_N)):
            distance_N[n] += most if codes_N[n] != code else none
        return
    here, behind, each = np.float32(code), np.float32(n_ordered), np.float32(weight)
    for n in range(len(codes_N)):
        other = np.float32(codes_N[n])
        distance_N[n] += each * (abs(other - here) if other < behind else behind)


@compiled
def _place(distance_N: Array, first: int, n_here: int, n_found: int, nearest_k: Array, place_k: Array) -> int:
    """Place the rows that are nearer than the last of the nearest; how many are placed now."""
    for n in range(n_here):
        distance = distance_N[n]
        if n_found == len(nearest_k) and distance >= nearest_k[n_found - 1]:
            continue
        at = n_found = min(n_found + 1, len(nearest_k))
        at -= 1
        while at > 0 and nearest_k[at - 1] > distance:
            nearest_k[at], place_k[at] = nearest_k[at - 1], place_k[at - 1]
            at -= 1
        nearest_k[at], place_k[at] = distance, first + n
    return n_found
