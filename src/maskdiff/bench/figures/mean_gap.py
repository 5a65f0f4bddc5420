"""Why anomalies score higher on average: the gap of the means is a divergence, exactly so on noisy copies.

B rows (all there are), K masks (all with something visible and something hidden), F bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.datasets import NoisyCopiesOracle


def mean_gap(oracle: NoisyCopiesOracle, rate: float, target: int = 0) -> tuple[float, float]:
    """How much higher anomalies score than normal rows at one mask rate, and the divergence it comes from, exactly.

    The gap is mu_1 - mu_0, the difference of the mean expected oracle. Here anomalies are normal rows with the target
    bit turned round, which leaves all entropies as they are: what is left of the gap is the mean divergence of the true
    conditionals under anomalies from those under normal rows, as the paper remarks.
    """
    bits = _all_bits(oracle.length)
    n_ones = bits.sum(axis=1)
    share_B = 0.5 * (
        oracle.flip**n_ones * (1 - oracle.flip) ** (oracle.length - n_ones)
        + oracle.flip ** (oracle.length - n_ones) * (1 - oracle.flip) ** n_ones
    )
    turned = bits.copy()
    turned[:, target] ^= 1
    visible = _all_bits(oracle.length).astype(bool)[1:-1]  # something visible, something hidden
    n_hidden = (~visible).sum(axis=1)
    chance_K = rate**n_hidden * (1 - rate) ** (oracle.length - n_hidden)
    weight_K = chance_K / chance_K.sum() / n_hidden
    seen, unseen = (-oracle.log_prob(rows, visible[None]) for rows in (bits, turned))  # (B, K, F)
    gap = np.einsum("b,k,bkf->", share_B, weight_K, unseen - seen)
    divergence = 0.0
    for value in (0, 1):
        # Under an anomaly the conditional of a bit is that of the row with the target turned back.
        of_anomaly, of_normal = (_log_prob_of(value, oracle, rows, visible) for rows in (bits, turned))
        flipped = _log_prob_of(1 - value, oracle, bits, visible)
        of_anomaly[:, :, target] = flipped[:, :, target]
        kl = np.where(visible, 0.0, np.exp(of_anomaly) * (of_anomaly - of_normal))
        divergence += np.einsum("b,k,bkf->", share_B, weight_K, kl)
    return float(gap), float(divergence)


def _all_bits(length: int) -> NDArray[np.int64]:
    """Every row of so many bits, shape (2^F, F)."""
    return (np.arange(2**length)[:, None] >> np.arange(length)) & 1


def _log_prob_of(
    value: int, oracle: NoisyCopiesOracle, rows: NDArray[np.int64], visible: NDArray[np.bool_]
) -> FloatArray:
    """How likely each hidden bit is to have this value, given the visible ones, shape (B, K, F)."""
    found = np.empty((len(rows), len(visible), rows.shape[1]))
    for j in range(rows.shape[1]):
        asked = rows.copy()
        asked[:, j] = value
        found[:, :, j] = oracle.log_prob(asked, visible[None])[:, :, j]
    return found
