"""What the oddness of a single cell means: p-values by column, and selections among all cells of a table.

N rows, F fields, C calibration rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.errors import CalibrationError
from maskdiff.state import check
from maskdiff.state.tensors import check_tensor

# Of very wide tables fewer rows are kept, so that a model file stays small.
_MOST_CELLS = 1 << 21


@dataclass(frozen=True, eq=False)
class CellCalibration:
    """How odd the cells of calibration rows are, sorted within each column, shape (C, F)."""

    oddness_CF: FloatArray

    @classmethod
    def of(cls, oddness: FloatArray) -> CellCalibration:
        """From the cells of calibration rows, (C, F)."""
        kept = max(1, _MOST_CELLS // max(oddness.shape[1], 1))
        return cls(np.sort(oddness[:kept].astype(np.float32), axis=0))

    def __len__(self) -> int:
        return len(self.oddness_CF)

    def p_values(self, oddness: FloatArray) -> FloatArray:
        """How likely a cell of a normal row is to be at least this odd in its column, (N, F): exact for each column.

        >>> CellCalibration.of(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])).p_values(np.array([[2.5, 9.0]]))
        array([[0.5 , 0.25]])
        """
        reached = np.empty(oddness.shape)
        rounded = oddness.astype(np.float32)
        for column, own in enumerate(self.oddness_CF.T):
            reached[:, column] = len(own) - np.searchsorted(own, rounded[:, column], side="left")
        p_values: FloatArray = (1.0 + reached) / (len(self) + 1.0)
        return p_values

    def select(self, oddness: FloatArray, false_discovery_rate: float) -> BoolArray:
        """The cells to report together so that on average at most this share of them is fine, (N, F).

        Benjamini-Hochberg over all cells handed in, by their p-values among the cells of all columns.
        """
        selection = CellSelection(self, false_discovery_rate)
        reached = selection.add(oddness)
        return reached <= selection.most_reached()

    def p_values_among_all(self, oddness: FloatArray) -> FloatArray:
        """How likely any cell of a normal row is to be at least this odd, (N, F).

        One column has too few calibration rows to tell the oddest of many cells apart; all columns together, whose
        oddness is on one scale, have enough.
        """
        return np.asarray((1.0 + self.reached(oddness)) / (self.oddness_CF.size + 1.0), dtype=np.float64)

    def reached(self, oddness: FloatArray) -> IntArray:
        """How many cells of calibration rows, whatever their column, are at least as odd as each of these, (N, F)."""
        below = np.searchsorted(self._everywhere, oddness.astype(np.float32), side="left")
        return self.oddness_CF.size - below

    @cached_property
    def _everywhere(self) -> FloatArray:
        return np.sort(self.oddness_CF, axis=None)

    def to_tensor(self) -> Tensor:
        """The sorted oddness, as a model file holds it."""
        return torch.from_numpy(self.oddness_CF)

    @classmethod
    def from_tensor(cls, oddness: Tensor, n_fields: int) -> CellCalibration:
        """What `to_tensor` gave."""
        check_tensor("cell_calibration", oddness, (None, n_fields), torch.float32)
        check(bool((oddness.diff(dim=0) >= 0).all()), "its calibration of cells is not in order")
        return cls(oddness.numpy().copy())


def check_false_discovery_rate(rate: float) -> None:
    """Refuse what is no share of the cells reported."""
    if not 0 < rate < 1:
        raise CalibrationError(f"false_discovery_rate must lie between 0 and 1; got {rate}.")


class CellSelection:
    """Which cells of a table that comes in batches are to be reported together: Benjamini-Hochberg over all of them.

    A cell's p-value is one of a few, its place among the calibration cells, so that counts of these are all it takes.
    """

    def __init__(self, calibration: CellCalibration, false_discovery_rate: float) -> None:
        check_false_discovery_rate(false_discovery_rate)
        self.calibration, self.rate = calibration, false_discovery_rate
        n_cells = calibration.oddness_CF.size
        self._p_values = (1.0 + np.arange(n_cells + 1)) / (n_cells + 1.0)
        self._counts = np.zeros(n_cells + 1, np.int64)

    @property
    def reachable(self) -> int:
        """No cell that more calibration cells reach is ever selected, whatever other cells there are."""
        return int(np.searchsorted(self._p_values, self.rate, side="right")) - 1

    @property
    def total(self) -> int:
        """How many cells were counted."""
        return int(self._counts.sum())

    @property
    def beyond(self) -> int:
        """How many of them are odder than all calibration cells; among many cells some are by chance."""
        return int(self._counts[0])

    @property
    def finest_rate(self) -> float:
        """The lowest false-discovery rate at which some of the cells counted would be reported; 1 if there is none."""
        at_least = np.cumsum(self._counts)
        some = at_least > 0
        return float(min(1.0, (self._p_values[some] * at_least[-1] / at_least[some]).min(initial=1.0)))

    def add(self, oddness: FloatArray) -> IntArray:
        """Count the cells of one more batch; how many calibration cells reach each of them, (N, F)."""
        reached = self.calibration.reached(oddness)
        self._counts += np.bincount(reached.ravel(), minlength=len(self._counts))
        return reached

    def most_reached(self) -> int:
        """The cells to report are those that at most so many calibration cells reach; -1 for none.

        >>> calibration = CellCalibration.of(np.arange(99.0).reshape(33, 3))
        >>> selection = CellSelection(calibration, 0.1)
        >>> reached = selection.add(np.array([[200.0, 5.0, 7.0], [97.5, 9.0, 40.0]]))
        >>> (reached <= selection.most_reached()).tolist()
        [[True, False, False], [True, False, False]]
        """
        at_least = np.cumsum(self._counts)
        total = at_least[-1]
        passing = np.flatnonzero((at_least > 0) & (self._p_values * total <= self.rate * at_least))
        return int(passing[-1]) if len(passing) else -1
