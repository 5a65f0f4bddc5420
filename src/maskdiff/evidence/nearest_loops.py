"""The nearest normal rows, compiled (see `reconstructors.compiled`).

Distances are summed field by field over a block of normal rows that stays in a processor's cache, and a row is placed
among the nearest only if it is nearer than the last of them, which few are. Codes in order lie somewhere, others have
NaN for a place and are `apart` if they differ. B rows, N normal rows, F fields, O of them with an order, C places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.reconstructors.compiled import compiled

Array = NDArray[Any]

_BLOCK = 2048


def find_nearest(
    codes_FN: Array,
    lies_ON: Array,
    ordered_O: Array,
    rows_BF: Array,
    known_BF: Array,
    place_FC: Array,
    apart_F: Array,
    place_Bk: Array,
) -> None:
    """Fill in the places of the nearest normal rows, nearest first, and of rows equally far the first.

    `lies_ON` is where the codes of the normal rows lie, in the fields `ordered_O`.
    """
    nearest_k, distance_N = np.empty(place_Bk.shape[1], np.float32), np.empty(_BLOCK, np.float32)
    _find(codes_FN, lies_ON, ordered_O, rows_BF, known_BF, place_FC, apart_F, place_Bk, nearest_k, distance_N)


@compiled
def add_differences(
    codes_NF: Array,
    counts_N: Array,
    rows_BF: Array,
    known_BF: Array,
    place_FC: Array,
    apart_F: Array,
    place_Bk: Array,
    k: int,
    difference_BF: Array,
) -> None:
    """Fill in how much each field differs from k of these normal rows, equal ones counted each."""
    last = place_FC.shape[1] - 1
    for b in range(len(rows_BF)):
        n_counted = 0
        for i in range(place_Bk.shape[1]):
            near_F, number = codes_NF[place_Bk[b, i]], min(counts_N[place_Bk[b, i]], k - n_counted)
            n_counted += number
            for j in range(len(near_F)):
                code, near = np.int64(rows_BF[b, j]), np.int64(near_F[j])
                between = abs(place_FC[j, min(code, last)] - place_FC[j, min(near, last)])
                if not known_BF[b, j] or (np.isnan(between) and code != near):
                    difference_BF[b, j] += number * apart_F[j]
                elif code != near:
                    difference_BF[b, j] += number * between
        for j in range(len(apart_F)):
            difference_BF[b, j] /= n_counted


@compiled
def _find(
    codes_FN: Array,
    lies_ON: Array,
    ordered_O: Array,
    rows_BF: Array,
    known_BF: Array,
    place_FC: Array,
    apart_F: Array,
    place_Bk: Array,
    nearest_k: Array,
    distance_N: Array,
) -> None:
    last = place_FC.shape[1] - 1
    for b in range(len(rows_BF)):
        n_found = 0
        for first in range(0, codes_FN.shape[1], len(distance_N)):
            n_here, o = min(len(distance_N), codes_FN.shape[1] - first), 0
            for n in range(n_here):
                distance_N[n] = 0
            for j in range(len(codes_FN)):
                here, in_order = place_FC[j, min(np.int64(rows_BF[b, j]), last)], o
                if o < len(ordered_O) and ordered_O[o] == j:
                    o += 1
                if not known_BF[b, j]:  # what is unseen is equally far from all
                    continue
                if np.isnan(here):
                    _add_unequal(codes_FN[j, first : first + n_here], rows_BF[b, j], apart_F[j], distance_N)
                else:
                    _add_between(lies_ON[in_order, first : first + n_here], here, apart_F[j], distance_N)
            n_found = _place(distance_N, first, n_here, n_found, nearest_k, place_Bk[b])


@compiled
def _add_unequal(codes_N: Array, code: int, apart: float, distance_N: Array) -> None:
    """Add what a field differs by whose code here has no place."""
    none = np.float32(0)
    for n in range(len(codes_N)):
        distance_N[n] += apart if codes_N[n] != code else none


@compiled
def _add_between(lies_N: Array, here: float, apart: float, distance_N: Array) -> None:
    """Add how far normal rows lie from here."""
    for n in range(len(lies_N)):
        between = abs(lies_N[n] - here)
        distance_N[n] += between if between == between else apart


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
