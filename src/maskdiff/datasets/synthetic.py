"""Noisy copies of one hidden bit: the paper's Figure 2, where every conditional is known exactly.

Under the normal distribution q0 a bit S is drawn evenly and each of the F bits of a row copies it, flipped with
probability `flip`. Under q' the target bit contradicts its copy: its marginal is unchanged, so that only its relation
to the other bits gives it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.errors import InputError, SettingError

if TYPE_CHECKING:
    import pandas as pd


def make_noisy_copies(
    n: int = 1000,
    seed: int = 0,
    *,
    mixture: float = 1.0,
    length: int = 40,
    flip: float = 0.08,
    target: int = 0,
) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """`n` rows of the mixture r q0 + (1 - r) q' with r = `mixture`, and which came from q' (1 = anomaly).

    >>> X, y = make_noisy_copies(4, seed=1, mixture=0.5, length=3)
    >>> list(X.columns), y.dtype.name
    (['bit_0', 'bit_1', 'bit_2'], 'int8')
    """
    import pandas as pd

    _check_copies(length, flip)
    if n < 0 or not 0 <= mixture <= 1 or not 0 <= target < length:
        raise SettingError(
            "noisy copies want n >= 0, a mixture from 0 to 1 and a target below the length; "
            f"got n={n}, mixture={mixture}, target={target}, length={length}"
        )
    rng = np.random.default_rng(seed)
    hidden_bit = rng.random((n, 1)) < 0.5
    bits = hidden_bit ^ (rng.random((n, length)) < flip)
    anomaly = rng.random(n) >= mixture
    bits[:, target] ^= anomaly
    X = pd.DataFrame(bits.astype(np.int8), columns=[f"bit_{j}" for j in range(length)])
    return X, anomaly.astype(np.int8)


@dataclass(frozen=True)
class NoisyCopiesOracle:
    """The true conditionals of q0: what a perfect reconstructor would answer for noisy copies."""

    length: int = 40
    flip: float = 0.08

    def __post_init__(self) -> None:
        _check_copies(self.length, self.flip)

    def log_prob(self, codes: IntArray, visible: BoolArray) -> FloatArray:
        """log q0(x_j | visible bits) of every bit; a visible bit is certain, so its value is 0.

        `codes` (B, F) and `visible` broadcast: (F,) or (B, F) gives (B, F); with one more axis, (B, K, F) or
        (1, K, F) for views that all rows share, the answer is (B, K, F).

        >>> oracle = NoisyCopiesOracle(length=2, flip=0.1)
        >>> float(np.exp(oracle.log_prob(np.array([[1, 1]]), np.array([False, True]))[0, 0]).round(2))
        0.82
        """
        codes, visible = np.asarray(codes), np.asarray(visible, dtype=bool)
        self._check_width(codes, visible)
        if visible.ndim > codes.ndim:
            codes = np.expand_dims(codes, -2)
        odds = self._log_odds(codes, visible)
        # S agrees with x_j at these log-odds; x_j then copied it, or else was flipped.
        agrees = np.where(codes == 1, odds, -odds)
        stay, flipped = np.log1p(-self.flip), np.log(self.flip)
        log_prob = np.logaddexp(stay - np.logaddexp(0, -agrees), flipped - np.logaddexp(0, agrees))
        return np.where(visible, 0.0, log_prob)

    def _log_odds(self, codes: IntArray, visible: BoolArray) -> FloatArray:
        """Log-odds of S = 1 given the visible bits, with a last axis of 1: each bit is one vote."""
        votes = np.where(visible, 2 * codes.astype(np.int64) - 1, 0).sum(axis=-1, keepdims=True)
        odds: FloatArray = votes * (np.log1p(-self.flip) - np.log(self.flip))
        return odds

    def _check_width(self, codes: IntArray, visible: BoolArray) -> None:
        for what, width in (("codes", codes.shape[-1]), ("visible", visible.shape[-1])):
            if width != self.length:
                raise InputError(f"this oracle knows rows of {self.length} bits; {what} has {width} in its last axis")


def _check_copies(length: int, flip: float) -> None:
    if length < 1 or not 0 < flip < 1:
        raise SettingError(
            f"noisy copies want a length of at least 1 and a flip strictly between 0 and 1; got {length}, {flip}"
        )
