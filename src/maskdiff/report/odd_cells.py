"""Which cells of a row are *odd*: those that add at least half as much to its score as its strongest cell.

Every column is a little surprising in every row, so a fixed share of the score would name bystanders along with the
culprit. n rows, F fields, T tokens of all rows one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray

ODD_FRACTION = 0.5


def odd_mask(contributions: FloatArray) -> BoolArray:
    """Which cells are odd, shape (n, F).

    >>> odd_mask(np.array([[0.8, 0.1, 0.5], [0.0, 0.3, 0.1]]))
    array([[ True, False,  True],
           [False,  True, False]])
    """
    strongest = contributions.max(axis=1, keepdims=True, initial=0.0)
    odd: BoolArray = (contributions >= ODD_FRACTION * strongest) & (contributions > 0)
    return odd


def odd_token_mask(row: NDArray[np.int64], contributions: FloatArray) -> BoolArray:
    """Which tokens are odd, given the row of each in ascending order, shape (T,).

    >>> odd_token_mask(np.array([0, 0, 2]), np.array([0.2, 0.5, 0.1]))
    array([False,  True,  True])
    """
    if not len(row):
        return np.zeros(0, dtype=np.bool_)
    first = np.flatnonzero(np.diff(row, prepend=-1))
    strongest = np.repeat(np.maximum.reduceat(contributions, first), np.diff(np.append(first, len(row))))
    odd: BoolArray = (contributions >= ODD_FRACTION * strongest) & (contributions > 0)
    return odd
