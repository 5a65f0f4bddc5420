"""What the oddness of a single cell means: p-values by column, and selections among all cells of a table.

N rows, F fields, C calibration rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import BoolArray, FloatArray
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
        from scipy.stats import false_discovery_control

        if not 0 < false_discovery_rate < 1:
            raise CalibrationError(f"false_discovery_rate must lie between 0 and 1; got {false_discovery_rate}.")
        if not oddness.size:
            return np.zeros(oddness.shape, dtype=np.bool_)
        adjusted: FloatArray = false_discovery_control(self.p_values_among_all(oddness), axis=None)
        return adjusted.reshape(oddness.shape) <= false_discovery_rate

    def p_values_among_all(self, oddness: FloatArray) -> FloatArray:
        """How likely any cell of a normal row is to be at least this odd, (N, F).

        One column has too few calibration rows to tell the oddest of many cells apart; all columns together, whose
        oddness is on one scale, have enough.
        """
        everywhere = np.sort(self.oddness_CF, axis=None)
        reached = len(everywhere) - np.searchsorted(everywhere, oddness.astype(np.float32), side="left")
        return np.asarray((1.0 + reached) / (len(everywhere) + 1.0), dtype=np.float64)

    def to_tensor(self) -> Tensor:
        """The sorted oddness, as a model file holds it."""
        return torch.from_numpy(self.oddness_CF)

    @classmethod
    def from_tensor(cls, oddness: Tensor, n_fields: int) -> CellCalibration:
        """What `to_tensor` gave."""
        check_tensor("cell_calibration", oddness, (None, n_fields), torch.float32)
        check(bool((oddness.diff(dim=0) >= 0).all()), "its calibration of cells is not in order")
        return cls(oddness.numpy().copy())
