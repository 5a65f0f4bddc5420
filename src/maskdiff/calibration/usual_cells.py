"""What is usual for the cells of a file that is all there is: wrong ones are among them. N rows, F fields."""

from __future__ import annotations

import numpy as np

from maskdiff.codes import FloatArray, IntArray

# What is usual for a column: three times the mean of its log odds, clipped at this quantile: some cells are wrong.
_MEANS, _CLIPPED = 3.0, 0.9
# What is usual for a value: the log odds that all but this share of the cells that hold it reach. Most cells with a
# rare value may be wrong ones, which a mean would take for usual.
_BELOW = 0.1
# It is drawn towards 0 as if more cells held the value, each with log odds of 0: one in so many rows, and at least two.
# Typos repeat in large files, but not as often as values that are rare by nature.
_ROWS_PER_CELL, _FEWEST = 300, 2


def beyond_usual(log_odds: FloatArray, values: IntArray) -> FloatArray:
    """How far each cell is beyond what is usual for its column or its value, whichever is more, in nats, (N, F).

    Cells of a column with equal numbers in `values` hold the same value, and one with -1 a value of its own. A rare
    value is unlikely wherever it stands: where all cells that hold it have high log odds, these say little about one.
    The two are not added: where a whole column is hard to predict, each of its values is.

    >>> log_odds, values = np.zeros((100, 1)), np.zeros((100, 1), np.int64)
    >>> log_odds[:9], values[:8], values[8] = 5.0, 1, -1
    >>> beyond_usual(log_odds, values)[[0, 8, 9], 0].round(1)
    array([1.1, 5. , 0. ])
    """
    if not len(log_odds):
        return log_odds
    usual_F: FloatArray = _MEANS * np.minimum(log_odds, np.quantile(log_odds, _CLIPPED, axis=0)).mean(axis=0)
    return log_odds - np.maximum(usual_F, _usual_for_values(log_odds, values))


def _usual_for_values(log_odds: FloatArray, values: IntArray) -> FloatArray:
    """The log odds that nearly all cells of the column with the same value reach, (N, F); 0 for a value of its own."""
    usual, of_none = np.zeros(log_odds.shape), max(_FEWEST, len(log_odds) / _ROWS_PER_CELL)
    for field, (odds_N, value_N) in enumerate(zip(log_odds.T, values.T, strict=True)):
        known = value_N >= 0
        _, place, counts = np.unique(value_N[known], return_inverse=True, return_counts=True)
        others = counts - 1
        first = np.cumsum(counts) - counts
        in_order = odds_N[known][np.lexsort((odds_N[known], place))]
        reached = in_order[first + (_BELOW * others).astype(np.int64)]
        usual[known, field] = (reached * others / (others + of_none))[place]
    return usual
