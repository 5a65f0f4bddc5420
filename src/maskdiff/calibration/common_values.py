"""Models that are too sure: the chance that a cell holds any value of its column, whatever the rest of its row says.

A model that learned from a few hundred rows takes many values for all but impossible that are common in their column.
How often it is wrong in that way is learned from the cells of the file, each judged by a model that did not see its
row: a share of them is taken to be drawn from the column alone. N rows, F fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

# So many of the oddest cells of a column may be wrong and say nothing about fine ones.
_ASIDE = 0.05
# So many cells of a column say enough about its share, halved so many times.
_MOST_CELLS, _HALVINGS = 20_000, 40
# Beyond this a ratio says no more.
_LARGEST = 50.0


def drawn_to_common(log_odds: FloatArray, log_ratio: NDArray[np.floating[Any]]) -> FloatArray:
    """The log odds against each cell's own value, (N, F), if some cells of each column are drawn from it alone.

    `log_ratio` says how much likelier the value is in its column alone than given the rest of its row, in nats.

    >>> log_odds, log_ratio = np.zeros((100, 1)), np.full((100, 1), -0.5)
    >>> log_odds[:10], log_ratio[:10] = 9.0, 6.0
    >>> drawn_to_common(log_odds, log_ratio)[[0, 99], 0].round(1)
    array([5., 0.])
    """
    drawn = np.empty(log_odds.shape)
    for field, odds_N in enumerate(log_odds.T):  # one column at a time: files may be large
        more_N = np.expm1(np.minimum(log_ratio[:, field], _LARGEST), dtype=np.float64)
        likelier_N = np.log1p(_share_drawn(odds_N, more_N) * np.maximum(more_N, 0.0))
        drawn[:, field] = np.maximum(odds_N - likelier_N, np.minimum(odds_N, 0.0))
    return drawn


def _share_drawn(log_odds_N: FloatArray, more_N: FloatArray) -> float:
    """The likeliest share of cells drawn from their column alone, the oddest left out.

    There a cell is 1 + `more_N` times as likely. The log-likelihood of a share is concave: below the likeliest one its
    slope is above zero.
    """
    some = slice(None, None, max(1, -(-len(more_N) // _MOST_CELLS)))
    odds_C = log_odds_N[some]
    more_C = more_N[some][np.argsort(odds_C, kind="stable")[: len(odds_C) - int(_ASIDE * len(odds_C))]]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if (more_C / (1.0 + middle * more_C)).sum() > 0 else (low, middle)
    return low
