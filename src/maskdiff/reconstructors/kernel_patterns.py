"""Eq. 7 from patterns of agreement, compiled (see `compiled`).

A reference row matters to a row only through its pattern: the fields on which they agree. Fields are cut into parts of
at most 16, and in each part the reference rows have few distinct patterns. A reference row's weight in a view is the
product of the weights of its parts. The votes for the fields of a part follow from one sum per distinct pattern: what
the other parts of the reference rows with this pattern weigh. With two parts that is two multiplications per reference
row and view, whatever the number of fields, and fewer where reference rows have the patterns of both parts in common.

B rows, K views, F fields, N reference rows, H parts, D distinct patterns of all parts together, A patterns of half a
part. M is B where rows have views of their own, and 1 where they share them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.reconstructors.compiled import compiled
from maskdiff.reconstructors.vector_lines import VIEWS, add_product, add_scaled, set_product

Array = NDArray[Any]

# Fields of a part, and fewer where so many patterns might have to be kept that it takes much memory.
_BITS, _FEWER_BITS, _MOST_PATTERNS = 16, 8, 1 << 17
# Below this, sums of weights in single precision are not exact.
_LEAST_TOTAL = 1e-24


def answer_rows(
    codes_FN: Array, counts_N: Array, rows_BF: Array, visible_MKF: Array, own_B: Array, q: float, answer_BKF: Array
) -> Array:
    """Fill in p(true code | visible cells); which rows are answered, (B,): the others are too far from all.

    `q` is the weight of a disagreement, `own_B` the place of each row among the reference rows where it is to be left
    out of them, else -1.
    """
    n_fields, n_references = codes_FN.shape
    n_parts, n_most, n_half = *_parts(n_fields, n_references), 1 << _BITS // 2
    # One for views that are not there, for numbers of all views are multiplied.
    table_AK = np.ones((2 * n_parts * n_half, VIEWS), np.float32)
    weights = (np.empty((n, VIEWS), np.float32) for n in (n_most, 2 * n_parts))
    sums = (np.empty((n, VIEWS)) for n in (n_most, n_half, n_fields + 1))
    answered_B = np.ones(len(rows_BF), np.bool_)
    _answer(
        codes_FN,
        counts_N.copy(),  # those of a row left out are changed on the way
        rows_BF,
        visible_MKF,
        own_B,
        q ** np.arange(_BITS // 2 + 1),
        answer_BKF,
        answered_B,
        np.empty(n_references, np.uint16),
        np.full(1 << _BITS, -1, np.int32),
        np.empty((n_parts, n_references), np.int32),
        np.zeros(n_parts + 1, np.int64),
        np.empty(n_most, np.int32),
        np.empty(2 * n_references),
        table_AK,
        *weights,
        *sums,
    )
    return answered_B


def _parts(n_fields: int, n_references: int) -> tuple[int, int]:
    """How many parts there are, and how many distinct patterns at most."""
    for bits in (_BITS, _FEWER_BITS):
        n_parts = max(2, -(-n_fields // bits))
        n_most = n_parts * min(n_references, 1 << -(-n_fields // n_parts))
        if n_most <= _MOST_PATTERNS:
            break
    return n_parts, n_most


@compiled
def _answer(
    codes_FN: Array,
    counts_N: Array,
    rows_BF: Array,
    visible_MKF: Array,
    own_B: Array,
    power_A: Array,
    answer_BKF: Array,
    answered_B: Array,
    pattern_N: Array,
    name_A: Array,
    name_HN: Array,
    start_H: Array,
    pattern_D: Array,
    count_P: Array,
    table_AK: Array,
    weight_DK: Array,
    product_HK: Array,
    others_DK: Array,
    sum_AK: Array,
    votes_FK: Array,
) -> None:
    n_fields, n_views, n_parts = len(codes_FN), visible_MKF.shape[1], len(name_HN)
    for at in range(0, n_views, VIEWS):
        n_here = min(VIEWS, n_views - at)
        for b in range(len(rows_BF)):
            _name_patterns(codes_FN, rows_BF[b], pattern_N, name_A, name_HN, start_H, pattern_D)
            if b == 0 or len(visible_MKF) > 1:
                _tabulate(visible_MKF[b], at, n_here, power_A, n_parts, table_AK)
            _weigh(pattern_D, start_H, n_fields, table_AK, weight_DK)
            _clear(others_DK, start_H[n_parts])
            n_own = counts_N[own_B[b]]
            if own_B[b] >= 0:
                counts_N[own_B[b]] = n_own - 1
            n_pairs = start_H[1] * (start_H[2] - start_H[1])
            if n_parts > 2:
                _add_parts(name_HN, counts_N, product_HK, weight_DK, others_DK)
            elif n_pairs <= len(count_P):
                _add_pairs(name_HN, counts_N, start_H, count_P, weight_DK, others_DK)
            else:
                _add_rows(name_HN, counts_N, weight_DK, others_DK)
            counts_N[own_B[b]] = n_own
            _vote(pattern_D, start_H, weight_DK, others_DK, sum_AK, votes_FK)
            for k in range(n_here):
                total = votes_FK[n_fields, k]
                answered_B[b] &= total >= _LEAST_TOTAL
                for j in range(n_fields):
                    answer_BKF[b, at + k, j] = votes_FK[j, k] / total


@compiled
def find_patterns(codes_FN: Array, row_F: Array, first: int, last: int, pattern_N: Array) -> None:
    """For each reference row the fields on which it agrees with the row, the first as the lowest bit."""
    for n in range(len(pattern_N)):
        pattern_N[n] = 0
    for j in range(first, last):
        bit, code = 1 << j - first, row_F[j]
        for n in range(len(pattern_N)):
            pattern_N[n] |= bit if codes_FN[j, n] == code else 0


@compiled
def _edges(part: int, n_parts: int, n_fields: int) -> tuple[int, int, int]:
    """The first field of a part, the first of its second half, and the first behind it."""
    first, last = part * n_fields // n_parts, (part + 1) * n_fields // n_parts
    return first, (first + last + 1) // 2, last


@compiled
def _name_patterns(
    codes_FN: Array,
    row_F: Array,
    pattern_N: Array,
    name_A: Array,
    name_HN: Array,
    start_H: Array,
    pattern_D: Array,
) -> None:
    """Number the distinct patterns, those of one part after the other, and name each reference row's by its number."""
    n_named = 0
    for h in range(len(name_HN)):
        first, _, last = _edges(h, len(name_HN), len(row_F))
        find_patterns(codes_FN, row_F, first, last, pattern_N)
        for n in range(len(pattern_N)):
            name = name_A[pattern_N[n]]
            if name < 0:
                name = n_named
                name_A[pattern_N[n]], pattern_D[name] = name, pattern_N[n]
                n_named += 1
            name_HN[h, n] = name
        start_H[h + 1] = n_named
        for d in range(start_H[h], n_named):
            name_A[pattern_D[d]] = -1


@compiled
def _tabulate(visible_KF: Array, at: int, n_views: int, power_A: Array, n_parts: int, table_AK: Array) -> None:
    """What each pattern of each half part weighs in each view."""
    for half in range(2 * n_parts):
        first, middle, last = _edges(half // 2, n_parts, visible_KF.shape[1])
        first, last = (middle, last) if half % 2 else (first, middle)
        base, every = half << _BITS // 2, (1 << last - first) - 1
        for k in range(n_views):
            table_AK[base + every, k] = 0
        for a in range(every - 1, -1, -1):
            j = 0
            while a >> j & 1:
                j += 1
            for k in range(n_views):
                table_AK[base + a, k] = table_AK[base + (a | 1 << j), k] + visible_KF[at + k, first + j]
        for a in range(every + 1):  # from numbers of disagreements
            for k in range(n_views):
                table_AK[base + a, k] = power_A[np.int64(table_AK[base + a, k])]


@compiled
def _weigh(pattern_D: Array, start_H: Array, n_fields: int, table_AK: Array, weight_DK: Array) -> None:
    """What each distinct pattern weighs in each view."""
    for h in range(len(start_H) - 1):
        first, middle, _ = _edges(h, len(start_H) - 1, n_fields)
        base, n_low = h << _BITS // 2 + 1, middle - first
        for d in range(start_H[h], start_H[h + 1]):
            low = base + (pattern_D[d] & (1 << n_low) - 1)
            high = base + (1 << _BITS // 2) + (pattern_D[d] >> n_low)
            set_product(weight_DK, d, table_AK, low, table_AK, high)


@compiled
def _add_rows(name_HN: Array, counts_N: Array, weight_DK: Array, others_DK: Array) -> None:
    """For each distinct pattern the sum over its reference rows of what their other part weighs."""
    for n in range(len(counts_N)):
        add_scaled(others_DK, name_HN[0, n], weight_DK, name_HN[1, n], counts_N[n])
        add_scaled(others_DK, name_HN[1, n], weight_DK, name_HN[0, n], counts_N[n])


@compiled
def _add_pairs(
    name_HN: Array, counts_N: Array, start_H: Array, count_P: Array, weight_DK: Array, others_DK: Array
) -> None:
    """The same, once for each distinct pair of patterns."""
    middle, last = start_H[1], start_H[2]
    for p in range(middle * (last - middle)):
        count_P[p] = 0
    for n in range(len(counts_N)):
        count_P[name_HN[0, n] * (last - middle) + name_HN[1, n] - middle] += counts_N[n]
    for first in range(middle):
        for second in range(middle, last):
            count = count_P[first * (last - middle) + second - middle]
            if count != 0:
                add_scaled(others_DK, first, weight_DK, second, count)
                add_scaled(others_DK, second, weight_DK, first, count)


@compiled
def _add_parts(name_HN: Array, counts_N: Array, product_HK: Array, weight_DK: Array, others_DK: Array) -> None:
    """The same for any number of parts: those before, times those behind."""
    n_parts = len(name_HN)
    behind = 2 * n_parts - 1  # products of parts before h are at h, those of parts behind h at n_parts + h
    for k in range(VIEWS):
        product_HK[behind, k] = 1
    for n in range(len(counts_N)):
        for k in range(VIEWS):
            product_HK[0, k] = counts_N[n]
        for h in range(n_parts - 1):
            set_product(product_HK, h + 1, product_HK, h, weight_DK, name_HN[h, n])
        for h in range(n_parts - 1, -1, -1):
            add_product(others_DK, name_HN[h, n], product_HK, h, product_HK, n_parts + h)
            if h > 0:
                set_product(product_HK, n_parts + h - 1, product_HK, n_parts + h, weight_DK, name_HN[h, n])


@compiled
def _vote(pattern_D: Array, start_H: Array, weight_DK: Array, others_DK: Array, sum_AK: Array, votes_FK: Array) -> None:
    """The weight of the reference rows that agree on each field, and, behind the fields, of all."""
    n_parts, n_fields = len(start_H) - 1, len(votes_FK) - 1
    _clear(votes_FK, n_fields)
    for half in range(2 * n_parts):
        start, middle, last = _edges(half // 2, n_parts, n_fields)
        first, last = (middle, last) if half % 2 else (start, middle)
        _clear(sum_AK, 1 << last - first)
        for d in range(start_H[half // 2], start_H[half // 2 + 1]):
            here = pattern_D[d] >> first - start & (1 << last - first) - 1
            add_product(sum_AK, here, weight_DK, d, others_DK, d)
        for j in range(last - 1, first - 1, -1):  # the patterns with a bit join those without it
            for a in range(1 << j - first):
                add_scaled(votes_FK, j, sum_AK, a | 1 << j - first, 1)
                add_scaled(sum_AK, a, sum_AK, a | 1 << j - first, 1)
    for k in range(VIEWS):
        votes_FK[n_fields, k] = sum_AK[0, k]


@compiled
def _clear(lines: Array, n: int) -> None:
    for d in range(n):
        for k in range(VIEWS):
            lines[d, k] = 0
