"""The cells of one file on one scale: in some columns log odds fall slowly although the cells are fine.

Models that know too little about a column of many values are too sure of it, so that its fine cells look as odd as
wrong cells of other columns. How fast the log odds of a column fall is estimated from its cells without the oddest
ones, which may be wrong. N rows, F fields, R rates.
"""

from __future__ import annotations

import numpy as np

from maskdiff.calibration.cell_tail import TAIL_START, CellTail
from maskdiff.codes import FloatArray

# The rates a column may have. That of a model which is as sure as it should be is 1, and no column falls faster for
# long; a rate is drawn towards 1 as if so many cells more were known.
_RATES_R: FloatArray = np.geomspace(0.25, 1.0, 60)
_CELLS_MORE = 50.0
# The share of a column's cells that is set aside as if wrong: so many times the share that is wrong in the whole file,
# and at least this one. Errors may crowd in one column, but hardly more than that.
_TIMES_WRONG, _LEAST_ASIDE = 2.0, 0.05


def on_one_scale(beyond: FloatArray) -> FloatArray:
    """How far each cell is beyond what is usual, (N, F), where log odds fall as fast in all columns.

    What is beyond the start of the tail is drawn in, in columns whose log odds fall slowly; the rest stays as it is.

    >>> beyond = np.random.default_rng(0).exponential(size=(4000, 3)) * [1.0, 1.0, 3.0]
    >>> beyond.max(axis=0).round(1), on_one_scale(beyond).max(axis=0).round(1)
    (array([ 8.6,  8.7, 24.5]), array([8.6, 8.7, 9.5]))
    """
    if not beyond.size:
        return beyond
    aside = max(_TIMES_WRONG * CellTail.of(beyond).share_wrong(beyond), _LEAST_ASIDE)
    n_aside = int(aside * len(beyond))
    scaled = np.empty(beyond.shape)
    for field, beyond_N in enumerate(beyond.T):  # one column at a time: files may be large
        further_N = np.maximum(beyond_N - TAIL_START, 0.0)
        scaled[:, field] = beyond_N - further_N * (1 - _rate(further_N[further_N > 0], n_aside))
    return scaled


def _rate(further_C: FloatArray, n_aside: int) -> float:
    """How fast the tail of a column falls, given how far its cells are inside, the furthest `n_aside` left out.

    The likeliest rate of an exponential distribution that is cut off where those cells begin.
    """
    n_left = len(further_C) - n_aside
    if n_left <= 0:
        return 1.0
    ordered_C = np.sort(further_C)
    cut, total = ordered_C[min(n_left, len(ordered_C) - 1)], ordered_C[:n_left].sum()
    within_R = np.log(-np.expm1(-_RATES_R * cut))
    known_R = n_left * (np.log(_RATES_R) - within_R) - _RATES_R * total
    return float(_RATES_R[np.argmax(known_R + _CELLS_MORE * (np.log(_RATES_R) - _RATES_R))])
