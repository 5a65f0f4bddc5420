"""One number per row that equal rows share: the same codes give the same number, whatever file they came from."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes.rows import Codes
from maskdiff.codes.windows import Windows

Hashes = NDArray[np.uint64]

# Rows are hashed so many cells at a time, which bounds the memory for millions of rows.
_CELLS_AT_ONCE = 1 << 20


def row_hashes(codes: Codes, salt: int) -> Hashes:
    """A hash of each row's codes, shape (N,); 0 for a row without a single cell.

    The codes, each times a random odd number of its column or position, are summed modulo 2^64 and mixed. A row of
    tokens is hashed as a whole, however many windows it was cut into.

    >>> from maskdiff.codes import Field, Schema
    >>> schema = Schema((Field("pet", "category", ("cat", "dog"), (1, 1)),))
    >>> hashes = row_hashes(Codes(np.array([[0], [1], [0]]), schema), salt=7)
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    sums = _line_sums(codes, salt)
    if isinstance(codes, Windows):
        of_rows = np.zeros(codes.n_rows, np.uint64)
        np.add.at(of_rows, codes.row, sums)
        return np.where(codes.row_lengths > 0, _mixed(of_rows), np.uint64(0))
    return _mixed(sums)


def numbers_hashed(first: int, n: int, salt: int) -> Hashes:
    """A hash of each of the n numbers from `first` on, shape (n,); the same for the same salt."""
    offset = _mixed(np.array([salt], np.uint64))
    return _mixed(np.arange(first, first + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + offset)


def _line_sums(codes: Codes, salt: int) -> Hashes:
    """The sum over each line's cells that count, shape (L,)."""
    width = codes.values.shape[1]
    start = codes.start if isinstance(codes, Windows) else None
    counts = codes.counts if isinstance(codes, Windows) else codes.real
    factors = _factors(width + (0 if start is None else int(start.max(initial=0))), salt)
    sums, step = np.empty(len(codes), np.uint64), max(1, _CELLS_AT_ONCE // max(1, width))
    for at in range(0, len(codes), step):
        here = slice(at, at + step)
        # Code 0 counts too, or a row would equal the same row without its first symbol.
        cells = codes.values[here].astype(np.uint64) + np.uint64(1)
        if counts is not None:
            cells *= counts[here]
        if start is None:
            sums[here] = cells @ factors
        else:
            sums[here] = (cells * factors[start[here, None] + np.arange(width)]).sum(axis=1, dtype=np.uint64)
    return sums


@lru_cache(maxsize=64)
def _factors(n: int, salt: int) -> Hashes:
    """n random odd numbers, the same for the same salt."""
    return _mixed(np.arange(1, n + 1, dtype=np.uint64) + _mixed(np.array([salt], np.uint64))) | np.uint64(1)


def _mixed(numbers: Hashes) -> Hashes:
    """Every bit of the result depends on every bit given (the finaliser of SplitMix64)."""
    x = numbers + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = x ^ (x >> np.uint64(31))
    return mixed
