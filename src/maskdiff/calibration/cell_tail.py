"""What the log odds of single cells mean where wrong cells are among the cells that calibrate.

Nothing but one file is given; each of its rows was judged by a model that learned from the others. A model that knows
how likely values are gives one cell in exp(t) log odds above t: the log odds of fine cells fall exponentially, at a
rate near 1. Those of wrong cells do not: they are spread over a wide range. So the log odds just beyond what is usual,
where most cells are fine, say how many fine cells to expect further out. N rows, F fields, R rates, B bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.calibration.cells import check_false_discovery_rate
from maskdiff.calibration.false_discovery import reported
from maskdiff.codes import BoolArray, FloatArray

# The tail begins this many nats beyond what is usual, and is fitted over so many nats in so many bins.
TAIL_START = 1.0
_WIDTH, _BINS = 6.0, 24
# Rates at which the log odds of fine cells may fall, since models are too sure or not sure enough. They are near 1: the
# deviation of their logarithms. Models that learned from few rows are too sure: the largest rate by the rows of a file.
_SLOWEST, _N_RATES, _DEVIATION = 0.75, 27, 0.2
_FASTEST, _AT_ROWS = (0.9, 1.2), (1_000, 10_000)
_ROUNDS = 200
# How wrong cells may be spread over the bins: evenly, or the more the further out. A model that learned from many of
# them finds them as unlikely as they are rare: where at least this share of the cells is wrong, also around the middle.
_RAMP_B: FloatArray = np.arange(0.5, _BINS, dtype=np.float64)
_SPREADS: tuple[FloatArray, ...] = (np.ones(_BINS), _RAMP_B)
_MIDDLE_B: FloatArray = np.minimum(_RAMP_B, _BINS - _RAMP_B)
_MANY = 0.01
# Never fewer fine cells than this are expected, however odd a cell is.
_LEAST_EXPECTED = 0.01
# Where none was seen beyond the start of the tail, up to three may be expected there, with a confidence of 95%.
_FEWEST_FINE = 3.0


@dataclass(frozen=True, eq=False)
class CellTail:
    """How many of `n_cells` are expected beyond what is usual although they are fine.

    `n_fine` of them are more than one nat beyond it, and exp(-`rate`) times as many with each further nat.
    """

    n_cells: int
    n_fine: float
    rate: float

    @classmethod
    def of(cls, oddness: FloatArray) -> CellTail:
        """From all cells of a file, (N, F): how far each is beyond what is usual for it, in nats.

        >>> oddness = np.random.default_rng(0).exponential(size=(2000, 5)) - 2.0
        >>> oddness[:40, 2] = 12.0
        >>> chosen = CellTail.of(oddness).select(oddness, 0.1)
        >>> bool(chosen[:40, 2].all()), int(chosen.sum()) <= 46
        (True, True)
        """
        fastest = np.interp(np.log(max(len(oddness), 1)), np.log(_AT_ROWS), _FASTEST)
        rates = np.linspace(_SLOWEST, fastest, _N_RATES)
        beyond = (oddness - TAIL_START).ravel()
        n_fine, rate = _fitted(beyond, rates, _SPREADS)
        tail = cls(oddness.size, n_fine, rate)
        if tail.share_wrong(oddness) >= _MANY:
            tail = cls(oddness.size, *_fitted(beyond, rates, (*_SPREADS, _MIDDLE_B)))
        return tail

    def share_wrong(self, oddness: FloatArray) -> float:
        """Which share of the same cells, (N, F), is in the tail without being expected there."""
        return max(float((oddness > TAIL_START).sum()) - self.n_fine, 0.0) / max(self.n_cells, 1)

    def p_values(self, oddness: FloatArray) -> FloatArray:
        """Which share of the fine cells is expected to be at least this odd, (N, F); 1 up to one nat beyond the usual.

        >>> CellTail(n_cells=1000, n_fine=20.0, rate=1.0).p_values(np.array([[0.5], [6.0]])).round(6)
        array([[1.00e+00],
               [1.35e-04]])
        """
        beyond = oddness - TAIL_START
        n_expected = np.maximum(self.n_fine * np.exp(-self.rate * np.maximum(beyond, 0.0)), _LEAST_EXPECTED)
        return np.where(beyond > 0, np.minimum(n_expected / max(self.n_cells, 1), 1.0), 1.0)

    def select(self, oddness: FloatArray, false_discovery_rate: float) -> BoolArray:
        """The cells to report together so that on average about this share of them is fine, (N, F).

        Benjamini-Hochberg over all cells handed in. The rate is an estimate: it rests on how the tail continues.
        """
        check_false_discovery_rate(false_discovery_rate)
        return reported(self.p_values(oddness), false_discovery_rate)


def _fitted(beyond: FloatArray, rates_R: FloatArray, spreads: Sequence[FloatArray]) -> tuple[float, float]:
    """How many fine cells are beyond the start of the tail, at least three, and at which of these rates they fall."""
    edges = np.linspace(0.0, _WIDTH, _BINS + 1)
    counts_B = np.histogram(beyond, edges)[0]
    fine_RB = -np.diff(np.exp(-rates_R[:, None] * edges), axis=1)
    weight_R, likelihood_R = _weights_of_fine(counts_B, fine_RB / fine_RB.sum(axis=1, keepdims=True), spreads)
    best = int(np.argmax(likelihood_R - 0.5 * (np.log(rates_R) / _DEVIATION) ** 2))
    n_fine = counts_B.sum() * weight_R[best] / fine_RB[best].sum()
    return max(_FEWEST_FINE, float(n_fine)), float(rates_R[best])


def _weights_of_fine(
    counts_B: NDArray[np.int64], fine_RB: FloatArray, spreads: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """The share of fine cells at each rate and the log-likelihood, each (R,), given how wrong cells may be spread.

    Expectation maximisation.
    """
    wrong = [np.broadcast_to(spread_B / spread_B.sum(), fine_RB.shape) for spread_B in spreads]
    parts_RCB = np.stack([fine_RB, *wrong], axis=1)
    weight_RC = np.full(parts_RCB.shape[:2], 1.0 / parts_RCB.shape[1])
    share_B = counts_B / max(int(counts_B.sum()), 1)
    for _ in range(_ROUNDS if counts_B.any() else 0):
        joint_RCB = weight_RC[:, :, None] * parts_RCB
        weight_RC = (joint_RCB / joint_RCB.sum(axis=1, keepdims=True) * share_B).sum(axis=2)
    mixed_RB = (weight_RC[:, :, None] * parts_RCB).sum(axis=1)
    return weight_RC[:, 0], (counts_B * np.log(np.maximum(mixed_RB, 1e-300))).sum(axis=1)
