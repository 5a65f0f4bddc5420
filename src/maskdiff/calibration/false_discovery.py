"""Which p-values to report together so that few of those reported are of normal rows or of fine cells."""

from __future__ import annotations

import numpy as np
from scipy.stats import false_discovery_control

from maskdiff.codes import BoolArray, FloatArray


def reported(p_values: FloatArray, false_discovery_rate: float) -> BoolArray:
    """What to report so that on average at most this share of it is normal (Benjamini-Hochberg over all values).

    >>> reported(np.array([[0.01, 0.9], [0.02, 0.9]]), 0.1)
    array([[ True, False],
           [ True, False]])
    """
    adjusted = false_discovery_control(p_values, axis=None)
    return np.asarray(adjusted <= false_discovery_rate).reshape(p_values.shape)
