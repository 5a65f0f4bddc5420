"""What is usual for each value of a column: a rare one is unlikely wherever it stands.

A column that mostly holds one value gives every other one high log odds. Where that is so in all rows that hold a
value, it says little about one of them: what counts is how much odder the value is there than elsewhere. N rows, F
fields, P values of all fields, one field after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import Codes, FloatArray, IntArray, Schema
from maskdiff.state import check
from maskdiff.state.tensors import check_tensor

# What is usual for a value is drawn towards 0 as if so many rows more held it, each with log odds of 0.
_ROWS_OF_NONE = 5
_LARGEST = 1e3


@dataclass(frozen=True, eq=False)
class UsualValues:
    """The log odds that cells with a value usually have, in nats, (P,); `start_F`: the first value of each field."""

    log_odds_P: FloatArray
    start_F: IntArray

    @classmethod
    def of(cls, codes: Codes, log_odds: FloatArray) -> Self:
        """From the log odds of the cells of normal rows, (N, F).

        >>> from maskdiff.codes import Field
        >>> flag = Field("flag", "category", ("no", "yes"), (95, 5))
        >>> codes = Codes(np.array([[0]] * 95 + [[1]] * 5), Schema((flag,)))
        >>> usual = UsualValues.of(codes, np.where(codes.values == 1, 3.0, 0.0))
        >>> usual.of_cells(Codes(np.array([[0], [1], [2]]), codes.schema)).tolist()
        [[0.0], [1.5], [0.0]]
        """
        start_F, known = _starts(codes.schema), codes.known
        place, n_values = (start_F + codes.values)[known], int(codes.schema.sizes.sum())
        total_P = np.bincount(place, weights=log_odds[known], minlength=n_values)
        return cls(total_P / (np.bincount(place, minlength=n_values) + _ROWS_OF_NONE), start_F)

    def of_cells(self, codes: Codes) -> FloatArray:
        """What is usual for the value of each cell, (N, F); 0 for a value never seen."""
        known = codes.known
        usual: FloatArray = self.log_odds_P[self.start_F + np.where(known, codes.values, 0)]
        return np.where(known, usual, 0.0)

    def to_tensor(self) -> Tensor:
        """The log odds, as a model file holds them."""
        return torch.from_numpy(self.log_odds_P)

    @classmethod
    def from_tensor(cls, log_odds: Tensor, schema: Schema) -> Self:
        """What `to_tensor` gave."""
        check_tensor("usual", log_odds, (int(schema.sizes.sum()),), torch.float64)
        check(bool(((log_odds >= 0) & (log_odds <= _LARGEST)).all()), "what is usual for its values is out of range")
        return cls(log_odds.numpy().copy(), _starts(schema))


def _starts(schema: Schema) -> IntArray:
    return np.asarray(np.cumsum(schema.sizes) - schema.sizes, dtype=np.int64)
