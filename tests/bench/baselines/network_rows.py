"""Rows for networks to learn from."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def copied_fields(n: int, *, wrong: bool, seed: int) -> NDArray[np.float32]:
    """One-hot rows of three fields of three values and a copy of each, which never agrees if it is `wrong`."""
    rng = np.random.default_rng(seed)
    fields = rng.integers(3, size=(n, 3))
    copies = (fields + wrong * rng.integers(1, 3, size=(n, 3))) % 3
    return np.eye(3, dtype=np.float32)[np.hstack([fields, copies])].reshape(n, 18)


def even(n: int) -> Tensor:
    return torch.full((n,), 1 / n)
