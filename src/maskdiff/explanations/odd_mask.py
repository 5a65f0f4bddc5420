"""Which cells of a row are *odd*. This is the only place that says so; the guide of the report repeats it.

A cell is odd when it adds at least half as much to the score as the strongest cell of its row: every column is a little
surprising in every row, so a fixed share of the score would name bystanders along with the culprit. A cell of a table
is odd in itself when its value is new, which means beyond the range learned or never seen in a column whose values come
again, and when it raises an alarm by itself, which `CellVerdicts` says. Normal texts have new words too, so a new token
has to add much like any other. n rows, F fields, T tokens of all rows one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray

ODD_FRACTION = 0.5


def odd_mask(contributions: FloatArray, is_new: BoolArray, fraction: float = ODD_FRACTION) -> BoolArray:
    """Which cells of tables are odd, shape (n, F); `is_new` says which hold a new value.

    >>> odd_mask(np.array([[0.8, 0.1, 0.5], [0.0, 0.3, 0.1]]), np.array([[False] * 3, [False, False, True]]))
    array([[ True, False,  True],
           [False,  True,  True]])
    """
    strongest = contributions.max(axis=1, keepdims=True, initial=0.0)
    return is_strong(contributions, strongest, fraction) | is_new


def odd_token_mask(
    row: NDArray[np.int64], contributions: FloatArray, most: int | None = None, fraction: float = ODD_FRACTION
) -> BoolArray:
    """Which tokens are odd, at most so many of a row (None: any number), given the row of each, shape (T,).

    >>> odd_token_mask(np.array([0, 0, 0, 2]), np.array([0.2, 0.5, 0.4, 0.1]), most=8)
    array([False,  True,  True,  True])
    """
    order = np.lexsort((-contributions, row))
    first = np.searchsorted(row[order], row[order], side="left")
    odd = np.zeros(len(row), dtype=np.bool_)
    strong = is_strong(contributions[order], contributions[order][first], fraction)
    odd[order] = strong & (np.arange(len(row)) - first < (len(row) if most is None else most))
    return odd


def is_strong(contributions: FloatArray, strongest: FloatArray, fraction: float = ODD_FRACTION) -> BoolArray:
    """Which contributions are at least this fraction of the strongest one of their row."""
    strong: BoolArray = (contributions >= fraction * strongest) & (contributions > 0)
    return strong
