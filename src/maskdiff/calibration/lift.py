"""One alarm for rows that are odd as a whole and for rows with one odd cell.

Both numbers of a row are measured from the quantile that a fifth of normal rows exceed, in units of the mean excess
beyond it, so that the tails of both are alike; the larger one counts. That is one fixed function of the row: once it
is set, by rows that do not calibrate, calibration promises the rate of its alarms exactly as it does for any score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.errors import SettingError
from maskdiff.state import storable

# A tail is what this share of normal rows exceed, at least so many rows.
_TAIL, _FEWEST = 0.2, 4
_LARGEST = 1e9
# No tail is this narrow: see `_tail`. Divided by less, a number may become infinite.
_NARROWEST = 1e-6


@storable
@dataclass(frozen=True)
class Lift:
    """How far a row's score is raised for its oddest cell; the result is in the unit of the score.

    `row_start` and `cell_start` are where the tails of the scores and of the oddest cells begin, `row_excess` and
    `cell_excess` the mean excess there. `share` is the part of all false alarms meant for single cells.
    """

    row_start: float
    row_excess: float
    cell_start: float
    cell_excess: float
    share: float

    def __post_init__(self) -> None:
        numbers = (self.row_start, self.cell_start, self.row_excess, self.cell_excess)
        narrowest = min(self.row_excess, self.cell_excess)
        if not all(abs(number) <= _LARGEST for number in numbers) or narrowest < _NARROWEST:
            raise SettingError(f"the tails must be finite, with excesses of at least {_NARROWEST:g}; got {self}.")
        if not 0 < self.share < 1:
            raise SettingError(f"share must lie between 0 and 1; got {self.share}.")

    @classmethod
    def of(cls, scores: FloatArray, oddest: FloatArray, share: float) -> Lift:
        """From the scores and the oddest cells of normal rows that were not learned from."""
        return cls(*_tail(scores), *_tail(oddest), share)

    @property
    def _offset(self) -> float:
        """Where tails fall exponentially, this makes single cells raise `share` of all false alarms."""
        return math.log(self.share / (1 - self.share))

    def alarm_score(self, scores: FloatArray, oddest: FloatArray) -> FloatArray:
        """The scores, raised where the oddest cell is further out in its tail than the row in its own.

        >>> Lift(2.0, 0.5, 4.0, 1.0, share=0.5).alarm_score(np.array([1.0, 1.0, 9.0]), np.array([3.0, 10.0, 10.0]))
        array([1., 5., 9.])
        """
        beyond = (oddest - self.cell_start) / self.cell_excess
        lifted = self.row_start + self.row_excess * (beyond + self._offset)
        return np.where(beyond > 0, np.maximum(scores, lifted), scores)

    def cell_threshold(self, threshold: float) -> float:
        """How odd a single cell must be to raise an alarm by itself where rows must score above `threshold`."""
        beyond = (threshold - self.row_start) / self.row_excess - self._offset
        return self.cell_start + self.cell_excess * max(beyond, 0.0)


def _tail(values: FloatArray) -> tuple[float, float]:
    """Where the tail begins, and its mean excess."""
    n = len(values)
    size = min(max(math.ceil(_TAIL * n), _FEWEST), max(n - 1, 1))
    ordered = np.sort(values)
    start = float(ordered[-size - 1] if size < n else ordered[0])
    excess = float((ordered[-size:] - start).mean())
    # Where all are alike, a thousandth of what they are: so many rows cannot show less.
    return start, max(excess, 1e-3 * max(abs(start), 1.0))
