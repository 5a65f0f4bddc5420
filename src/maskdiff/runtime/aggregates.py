"""How the surprises of a row become one number. B rows, F cells."""

from __future__ import annotations

import numpy as np

_FLOOR = -np.log(1e-12)


def _mean(surprise: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray((surprise * weight).sum(axis=1))


def _rms(surprise: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt((weight * surprise**2).sum(axis=1)))


def _max(surprise: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(weight > 0, surprise, 0.0).max(axis=1, initial=0.0))


def _log_mean_exp(surprise: np.ndarray, weight: np.ndarray) -> np.ndarray:
    part = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-30)
    return np.asarray(np.log1p((part * np.expm1(np.minimum(surprise, _FLOOR))).sum(axis=1)))


AGGREGATES = {"mean": _mean, "rms": _rms, "max": _max, "log_mean_exp": _log_mean_exp}
