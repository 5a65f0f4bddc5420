"""Which of a row's odd cells comes first: the one whose repair makes the others likely again.

A wrong value makes the cells that depend on it look wrong too, often as much as itself. Each of a row's strongest
reasons is given its expected value in turn; the more the log odds of the other cells fall, the likelier it was the
wrong one. N rows, F fields, C cells, K cells compared in a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

# How many reasons of a row are compared.
COMPARED = 4
# What the other cells lose counts so much beside the strength of the cell itself.
_OTHERS = 0.25
# There is nothing to compare unless in a second cell another value is at least twice as likely.
_ODD = math.log(2)
# How much of what is usual for a value is taken off its log odds, and what is left at least.
_USUAL, _LEFT = 0.5, 1e-3

Places = NDArray[np.int64]


def beyond_half_the_usual(log_odds: FloatArray, usual: FloatArray) -> FloatArray:
    """Log odds less half of those that the value usually has, (N, F); above 0 where the log odds are.

    A rare value is odd wherever it stands, which says little about this row, but rare values are wrong more often.

    >>> beyond_half_the_usual(np.array([3.0, 3.0, 0.0]), np.array([0.0, 4.0, 4.0])).tolist()
    [3.0, 1.0, 0.0]
    """
    return np.maximum(log_odds - _USUAL * usual, _LEFT * log_odds)


def by_repair_gain(
    strength: FloatArray, log_odds: FloatArray, after_repair: Callable[[Places, Places], FloatArray]
) -> FloatArray:
    """The strengths of reasons, (N, F), those of a row's first ones dealt out in the order of what their repair gains.

    `log_odds` (N, F) are those of all cells as they are, and `after_repair(row, field)` gives them, (C, F), for rows in
    which one cell each holds its expected value. Cells of no strength stay without.
    """
    order = np.argsort(-strength, axis=1, kind="stable")[:, :COMPARED]
    rows = np.flatnonzero((np.take_along_axis(log_odds, order, axis=1) >= _ODD).sum(axis=1) > 1)
    if not len(rows):
        return strength
    order = order[rows]
    strongest = strength[rows[:, None], order]
    row, field = np.repeat(rows, order.shape[1]), order.ravel()
    lost = log_odds[row] - after_repair(row, field)
    lost[np.arange(len(row)), field] = 0.0
    gain = strongest + _OTHERS * lost.sum(axis=1).reshape(order.shape)
    gain = np.where(strongest > 0, gain, -np.inf)
    by_gain = np.take_along_axis(order, np.argsort(-gain, axis=1, kind="stable"), axis=1)
    dealt = strength.copy()
    dealt[rows[:, None], by_gain] = strongest
    return dealt
