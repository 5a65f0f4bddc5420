"""The nearest normal rows, by the number of cells that differ, and where they differ.

B rows, N distinct normal rows, F fields, k neighbours, P positions (see reconstructors.layout).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.masking import Rows, as_rows
from maskdiff.reconstructors.layout import Layout

_FLOATS_AT_ONCE = 1 << 24


@dataclass(eq=False)
class Neighbours:
    """Hamming neighbours among the normal rows; equal rows are kept once, with their number.

    A value that was never seen differs from every normal row's.
    """

    k: int = 25

    def fit(self, codes: Codes, *, device: Any = "cpu") -> Self:
        """Keep these rows."""
        distinct, _inverse, counts = codes.distinct()
        return self.with_reference(distinct.values.astype(np.int64), counts, codes.schema, device)

    def with_reference(self, rows: NDArray[Any], counts: NDArray[Any], schema: Schema, device: Any) -> Self:
        """The same over these distinct rows."""
        self.codes_NF = torch.from_numpy(rows).to(device)
        self.counts_N = torch.from_numpy(counts).to(device)
        self.layout = Layout(schema.sizes).to(device)
        return self

    def differences(self, codes: Codes) -> FloatArray:
        """For each cell, the share of the row's k nearest normal rows that differ from it, shape (n, F).

        The row sums are the mean Hamming distances to the k nearest normal rows.
        """
        distinct, inverse, _ = codes.distinct()
        width = distinct.values.shape[1]
        answer = np.empty((len(distinct), width))
        step = max(1, _FLOATS_AT_ONCE // (len(self.counts_N) + self.layout.size + self.k * width))
        for at in range(0, len(distinct), step):
            rows = as_rows(distinct.take(slice(at, at + step)), device=self.codes_NF.device)
            answer[at : at + step] = self._differences(rows).cpu().numpy()
        return answer[inverse]

    def nearest(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Which distinct normal rows are nearest, and how many of each to count so that there are k, each (B, <= k)."""
        asked_BP = self.layout.one_hot(rows.codes_BF)
        if rows.known_BF is not None:
            asked_BP = asked_BP * rows.known_BF[:, self.layout.field_P]
        agree_BN = asked_BP @ self.layout.one_hot(self.codes_NF).T
        place_Bk = agree_BN.topk(min(self.k, len(self.counts_N)), dim=1).indices
        number_Bk = self.counts_N[place_Bk]
        before_Bk = number_Bk.cumsum(dim=1) - number_Bk
        return place_Bk, torch.minimum(number_Bk, (self.k - before_Bk).clamp_min(0))

    def _differences(self, rows: Rows) -> Tensor:
        place_Bk, number_Bk = self.nearest(rows)
        differs_BkF = self.codes_NF[place_Bk] != rows.codes_BF.unsqueeze(1)
        if rows.known_BF is not None:
            differs_BkF |= ~rows.known_BF.unsqueeze(1)
        share_Bk = number_Bk / number_Bk.sum(dim=1, keepdim=True)
        return torch.einsum("bk,bkf->bf", share_Bk, differs_BkF.to(share_Bk.dtype))
