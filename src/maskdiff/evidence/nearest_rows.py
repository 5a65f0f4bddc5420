"""The nearest normal rows and where a row differs from them: tables by their cells, texts by what they mean.

B rows, N normal rows (of a table: distinct ones), F fields, k neighbours, P positions (see reconstructors.layout),
T tokens of an encoder, H its width, D directions.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.masking import RowBatch, as_rows
from maskdiff.reconstructors.layout import Layout

_FLOATS_AT_ONCE = 1 << 24
# In fewer directions all normal texts would soon point the same way.
_FEWEST_DIRECTIONS = 16
# How many neighbours, and how many where these are equally far from all rows.
_FEW, _MORE = 5, 25


@dataclass(eq=False)
class NearestRows:
    """The normal rows that differ least; equal rows are kept once, with their number.

    Categories differ or do not, bins of numbers by the steps between them. A difference counts the more the less normal
    rows differ there: it is divided by the root mean square of what two of them differ by. A value that was never seen
    differs from every normal row's, in numbers by all steps.
    """

    k: int = _FEW

    def fit(self, codes: Codes, *, device: Any = "cpu") -> Self:
        """Keep these rows."""
        distinct, _inverse, counts = codes.distinct()
        return self.with_reference(distinct.values.astype(np.int64), counts, codes.schema, device)

    def with_reference(self, rows: NDArray[Any], counts: NDArray[Any], schema: Schema, device: Any) -> Self:
        """The same over these distinct rows."""
        self.codes_NF = torch.from_numpy(rows).to(device)
        self.counts_N = torch.from_numpy(counts).to(device)
        self.layout = Layout(schema.sizes).to(device)
        self.weight_F = torch.from_numpy(1 / schema.typical_difference).float().to(device)
        self.n_ordered_F = torch.tensor([field.n_ordered for field in schema], device=device)
        self.ordered_P = self.n_ordered_F[self.layout.field_P].nonzero().flatten()
        return self

    def looking_further(self, normal: Codes) -> Self:
        """The same with 25 neighbours, if normal rows differ more in their distance to those, relative to its mean.

        Where a table holds nearly all combinations, or each many times, the 5 nearest are equally far from every row.
        """
        further = copy.copy(self)
        further.k = _MORE
        return max((self, further), key=lambda some: _relative_deviation(some.differences(normal).sum(axis=1)))

    def differences(self, codes: Codes) -> FloatArray:
        """For each cell, how much it adds to the row's mean distance to the k nearest normal rows, shape (n, F)."""
        distinct, inverse, _ = codes.distinct()
        width = distinct.values.shape[1]
        answer = np.empty((len(distinct), width))
        step = max(1, _FLOATS_AT_ONCE // (len(self.counts_N) + 4 * self.layout.size + self.k * width))
        for at in range(0, len(distinct), step):
            rows = as_rows(distinct.take(slice(at, at + step)), device=self.codes_NF.device)
            answer[at : at + step] = self._differences(rows).cpu().numpy()
        return answer[inverse]

    def nearest(self, rows: RowBatch) -> tuple[Tensor, Tensor]:
        """Which distinct normal rows are nearest, and how many of each to count so that there are k, each (B, <= k)."""
        field_P, in_order = self.layout.field_P, self.ordered_P
        agree_BP = self.layout.one_hot(rows.codes_BF)
        if len(in_order):
            n_ordered, codes = self.n_ordered_F[field_P[in_order]], rows.codes_BF[:, field_P[in_order]]
            agree_BP[:, in_order] = n_ordered - _steps(codes, self.layout.code_P[in_order], n_ordered)
        if rows.known_BF is not None:
            agree_BP *= rows.known_BF[:, field_P]
        agree_BN = (agree_BP * self.weight_F[field_P]) @ self.layout.one_hot(self.codes_NF).T
        place_Bk = agree_BN.topk(min(self.k, len(self.counts_N)), dim=1).indices
        number_Bk = self.counts_N[place_Bk]
        before_Bk = number_Bk.cumsum(dim=1) - number_Bk
        return place_Bk, torch.minimum(number_Bk, (self.k - before_Bk).clamp_min(0))

    def _differences(self, rows: RowBatch) -> Tensor:
        place_Bk, number_Bk = self.nearest(rows)
        near_BkF, codes_B1F = self.codes_NF[place_Bk], rows.codes_BF.unsqueeze(1)
        differ_BkF = (near_BkF != codes_B1F).float()
        in_order = self.n_ordered_F.nonzero().flatten()
        if len(in_order):
            steps = _steps(codes_B1F[..., in_order], near_BkF[..., in_order], self.n_ordered_F[in_order])
            differ_BkF[..., in_order] = steps
        if rows.known_BF is not None:
            most_F = self.n_ordered_F.clamp_min(1).float()
            differ_BkF = torch.where(rows.known_BF.unsqueeze(1), differ_BkF, most_F)
        share_Bk = number_Bk / number_Bk.sum(dim=1, keepdim=True)
        return torch.einsum("bk,bkf->bf", share_Bk, differ_BkF) * self.weight_F


def _relative_deviation(distances: FloatArray) -> float:
    return float(distances.std() / max(distances.mean(), 1e-12))


def _steps(codes: Tensor, other: Tensor, n_ordered: Tensor) -> Tensor:
    """How many steps lie between two codes of a field with an order; all of them from a code outside it."""
    steps = torch.where(torch.maximum(codes, other) < n_ordered, (codes - other).abs(), n_ordered * (codes != other))
    return steps.float()
