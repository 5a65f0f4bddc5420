"""What a score means: p-values, thresholds and selections from the scores of normal rows not trained on.

Split-conformal calibration: if a new normal row is exchangeable with the calibration rows, its p-value is at most
alpha with probability at most alpha, whatever the model and however few rows. Nothing else is assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.calibration.false_discovery import reported
from maskdiff.codes import BoolArray, FloatArray
from maskdiff.errors import CalibrationError
from maskdiff.state import check

if TYPE_CHECKING:
    from torch import Tensor

DEFAULT_RATE = 0.01
# Two scores of equal rows may differ in their last digits; a difference below this is a tie, not evidence.
_TIE = 1e-5


@dataclass(frozen=True, eq=False)
class Calibration:
    """The sorted scores of the calibration rows, shape (n,). Rows without evidence, scored NaN, are not among them."""

    scores: FloatArray

    @classmethod
    def from_scores(cls, scores: ArrayLike) -> Calibration:
        all_scores = np.asarray(scores, dtype=np.float64)
        return cls(np.sort(all_scores[~np.isnan(all_scores)]))

    @classmethod
    def from_state(cls, scores: Tensor) -> Calibration:
        """The calibration whose sorted scores a model file holds."""
        import torch

        from maskdiff.state.tensors import check_tensor

        check_tensor("calibration", scores, (None,), torch.float64)
        check(bool((scores.diff() >= 0).all()), "its calibration scores are not in order")
        return cls(scores.numpy().copy())

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def finest_rate(self) -> float:
        """The smallest false-alarm rate this many rows can promise."""
        return 1 / (len(self.scores) + 1)

    def p_values(self, scores: ArrayLike) -> FloatArray:
        """How likely a normal row is to score at least this high, shape (n,); 1 for a row without evidence (NaN).

        >>> Calibration.from_scores([1.0, 2.0, 3.0]).p_values([0.5, 2.5, 9.0])
        array([1.  , 0.5 , 0.25])
        """
        new = np.asarray(scores, dtype=np.float64)
        reached = len(self.scores) - np.searchsorted(self.scores, new - _slack(new), side="left")
        p_values = (1.0 + reached) / (len(self.scores) + 1.0)
        return np.asarray(np.where(np.isnan(new), 1.0, p_values), dtype=np.float64)

    def threshold(self, false_alarm_rate: float) -> float:
        """gamma such that a normal row scores above it with probability at most this rate.

        >>> round(Calibration.from_scores(range(1, 100)).threshold(0.05), 3)
        95.001
        """
        rate = self.check_rate(false_alarm_rate)
        n = len(self.scores)
        rank = math.ceil(round((n + 1) * (1 - rate), 9))
        gamma = float(self.scores[min(rank, n) - 1])
        return gamma + float(_slack(np.float64(gamma)))

    def select(self, scores: ArrayLike, false_discovery_rate: float) -> BoolArray:
        """Which of these rows to report so that, on average, at most this share of them is normal, shape (n,).

        Benjamini-Hochberg on the p-values of all the rows handed in: the answer is about them together.
        """
        if not 0 < false_discovery_rate < 1:
            raise CalibrationError(f"false_discovery_rate must lie between 0 and 1; got {false_discovery_rate}.")
        return reported(self.p_values(scores), false_discovery_rate)

    def rate_or_default(self, rate: float | None) -> float:
        """The rate given; without one, 1%, or the finest that the calibration rows allow."""
        return max(DEFAULT_RATE, self.finest_rate) if rate is None else self.check_rate(rate)

    def check_rate(self, rate: float) -> float:
        """This rate, if it can be promised."""
        if not 0 < rate < 1:
            raise CalibrationError(f"a false-alarm rate must lie between 0 and 1; got {rate}.")
        n = len(self.scores)
        if rate * (n + 1) < 1 - 1e-9:
            needed = math.ceil(round(1 / rate, 9)) - 1
            raise CalibrationError(
                f"a false-alarm rate of {rate:g} needs at least {needed:,} calibration rows; there are {n:,}, enough "
                f"for {self.finest_rate:.3g} or more. Ask for a higher rate, or fit on more normal rows."
            )
        return rate


def _slack(scores: FloatArray | np.float64) -> FloatArray:
    return np.asarray(_TIE * np.maximum(1.0, np.abs(scores)))
