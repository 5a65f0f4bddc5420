"""Where a row of a table differs from the normal rows nearest to it.

B rows, N distinct normal rows, F fields, O of them with an order, C places, k neighbours, P positions (see
reconstructors.layout).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import Codes, FloatArray, Schema, schema_places
from maskdiff.errors import SettingError
from maskdiff.evidence.base import State
from maskdiff.masking import RowBatch, as_rows
from maskdiff.progress import Callback
from maskdiff.reconstructors.layout import Layout
from maskdiff.reconstructors.loops import in_threads, load_loops
from maskdiff.reconstructors.reference import ReferenceRows, compact_codes
from maskdiff.score import CellScores
from maskdiff.state import arguments_from_plain, arguments_to_plain
from maskdiff.state.tensors import Tensors

_FLOATS_AT_ONCE = 1 << 24
_LOOPS = "maskdiff.evidence.nearest_loops"
# How many neighbours, and how many where these are equally far from all rows.
_FEW, _MORE = 5, 25


@dataclass(eq=False)
class NearestRows:
    """The normal rows that differ least; equal rows are kept once, with their number.

    Categories differ or do not, bins of numbers by how far apart they are. A difference counts the more the less normal
    rows differ there: it is divided by the root mean square of what two of them differ by (see `codes.places`). A value
    that was never seen differs from every normal row's, and by more the further it is beyond the numbers seen.
    """

    k: int = _FEW

    codes_NF: Tensor = field(init=False, repr=False)
    counts_N: Tensor = field(init=False, repr=False)
    layout: Layout = field(init=False, repr=False)
    place_FC: Tensor = field(init=False, repr=False)
    apart_F: Tensor = field(init=False, repr=False)
    ordered_O: Tensor = field(init=False, repr=False)
    _compacted: tuple[np.ndarray[Any, Any], ...] | None = field(init=False, repr=False, default=None)

    # Whether a CPU may use compiled loops.
    compiles: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"k must be at least 1; got {self.k}.")

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, codes: Codes, *, device: Any = "cpu") -> Self:
        """A copy that keeps these rows."""
        return self._over(ReferenceRows.of(codes, device), codes.schema)

    def _over(self, reference: ReferenceRows, schema: Schema) -> Self:
        fitted, device = copy.copy(self), reference.codes_NF.device
        fitted.codes_NF, fitted.counts_N = reference.codes_NF, reference.counts_N
        fitted._compacted = None
        fitted.layout = Layout(schema.sizes).to(device)
        fitted.place_FC, fitted.apart_F = (torch.from_numpy(one).float().to(device) for one in schema_places(schema))
        fitted.ordered_O = (~fitted.place_FC[:, 0].isnan()).nonzero().flatten()
        return fitted

    def choose_k(self, normal: Codes) -> int:
        """25 if these tell normal rows apart and the nearest 5 do not, else 5.

        Where a table holds nearly all combinations, the 5 nearest are equally far from every row: normal rows differ
        more in their distance to 25, relative to its mean. Where it holds most of them several times, most rows are
        equal to their 5 nearest, but not to 25.
        """
        few, more = (self.with_k(k).differences(normal).sum(axis=1) for k in (_FEW, _MORE))
        repeats = np.median(few) == 0 < np.median(more)
        return _MORE if repeats or _relative_deviation(more) > _relative_deviation(few) else _FEW

    def with_k(self, k: int) -> Self:
        """A copy that looks at so many neighbours."""
        other = copy.copy(self)
        other.k = k
        return other

    # Answering -------------------------------------------------------------------------------------------------------

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F): its difference, all cells alike."""
        differences = self.differences(codes)
        return CellScores(differences, np.full_like(differences, 1 / max(differences.shape[1], 1)))

    def left_out(self) -> Self:
        """The same: distances are only taken from rows that were held out."""
        return self

    def describe(self) -> str:
        """What it is, in words."""
        return f"the nearest normal rows: {self!r}"

    def to_state(self) -> State:
        """The number of neighbours, and the rows."""
        return arguments_to_plain(self), ReferenceRows(self.codes_NF, self.counts_N).to_tensors()

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The source that `to_state` described."""
        bare = cls(**arguments_from_plain(cls, plain))
        return bare._over(ReferenceRows.from_tensors(tensors, schema, device), schema)

    # The distance ----------------------------------------------------------------------------------------------------

    def differences(self, codes: Codes) -> FloatArray:
        """For each cell, how much it adds to the row's mean distance to the k nearest normal rows, shape (n, F)."""
        distinct, inverse, _ = codes.without_excess().distinct()
        width = distinct.values.shape[1]
        answer = np.empty((len(distinct), width))
        step = max(1, _FLOATS_AT_ONCE // (len(self.counts_N) + 4 * self.layout.size + self.k * width))
        for at in range(0, len(distinct), step):
            rows = as_rows(distinct.take(slice(at, at + step)), device=self.codes_NF.device)
            answer[at : at + step] = self._differences(rows).cpu().numpy()
        return answer[inverse] if codes.excess is None else answer[inverse] * (1 + codes.excess)

    def nearest(self, rows: RowBatch) -> tuple[Tensor, Tensor]:
        """Which distinct normal rows are nearest, and how many of each to count so that there are k, each (B, <= k)."""
        loops = self._loops()
        place_Bk = self._places(rows) if loops is None else torch.from_numpy(self._compiled_places(rows, loops))
        number_Bk = self.counts_N[place_Bk]
        before_Bk = number_Bk.cumsum(dim=1) - number_Bk
        return place_Bk, torch.minimum(number_Bk, (self.k - before_Bk).clamp_min(0))

    def _places(self, rows: RowBatch) -> Tensor:
        field_P, apart_P = self.layout.field_P, self.apart_F[self.layout.field_P]
        agree_BP = self.layout.one_hot(rows.codes_BF) * apart_P
        place_P = self.place_FC[field_P, self.layout.code_P.clamp(max=self.place_FC.shape[1] - 1)]
        in_order = (~place_P.isnan()).nonzero().flatten()
        if len(in_order):
            differ = (self._placed(rows.codes_BF)[:, field_P[in_order]] - place_P[in_order]).abs()
            agree_BP[:, in_order] = (apart_P[in_order] - differ).nan_to_num(0.0)
        if rows.known_BF is not None:
            agree_BP *= rows.known_BF[:, field_P]
        agree_BN = agree_BP @ self.layout.one_hot(self.codes_NF).T
        return agree_BN.topk(min(self.k, len(self.counts_N)), dim=1).indices

    def _differences(self, rows: RowBatch) -> Tensor:
        loops = self._loops()
        if loops is not None:
            return self._compiled_differences(rows, loops)
        place_Bk, number_Bk = self.nearest(rows)
        near_BkF, codes_B1F = self.codes_NF[place_Bk], rows.codes_BF.unsqueeze(1)
        differ_BkF = (near_BkF != codes_B1F) * self.apart_F
        if len(self.ordered_O):
            between = (self._placed(near_BkF) - self._placed(codes_B1F)).abs()
            differ_BkF = torch.where(between.isnan(), differ_BkF, between)
        if rows.known_BF is not None:
            differ_BkF = torch.where(rows.known_BF.unsqueeze(1), differ_BkF, self.apart_F)
        share_Bk = number_Bk / number_Bk.sum(dim=1, keepdim=True)
        return torch.einsum("bk,bkf->bf", share_Bk, differ_BkF)

    def _placed(self, codes: Tensor) -> Tensor:
        """Where codes lie, (..., F); NaN for those that have no place."""
        fields = torch.arange(len(self.place_FC), device=codes.device)
        return self.place_FC[fields, codes.clamp(max=self.place_FC.shape[1] - 1)]

    # The same, compiled ----------------------------------------------------------------------------------------------

    def _loops(self) -> Any:
        """The compiled loops, on a CPU with numba; else None."""
        return load_loops(_LOOPS) if self.compiles and self.codes_NF.device.type == "cpu" else None

    def _compiled_places(self, rows: RowBatch, loops: Any) -> np.ndarray[Any, Any]:
        codes_BF, known_BF = self._compact(rows)
        place_Bk = np.empty((len(codes_BF), min(self.k, len(self.counts_N))), np.int64)
        if self._compacted is None:
            codes_FN = compact_codes(self.codes_NF.T, self.layout.sizes)
            lies_ON = self._placed(self.codes_NF).T[self.ordered_O].contiguous()
            self._compacted = codes_FN, lies_ON.numpy(), self.ordered_O.numpy()
        normal, fields = self._compacted, (self.place_FC.numpy(), self.apart_F.numpy())

        def find(run: slice) -> None:
            loops.find_nearest(*normal, codes_BF[run], known_BF[run], *fields, place_Bk[run])

        in_threads(find, len(codes_BF))
        return place_Bk

    def _compiled_differences(self, rows: RowBatch, loops: Any) -> Tensor:
        place_Bk, (codes_BF, known_BF) = self._compiled_places(rows, loops), self._compact(rows)
        total_BF, reference = np.zeros(codes_BF.shape), (self.codes_NF.numpy(), self.counts_N.numpy())
        fields = self.place_FC.numpy(), self.apart_F.numpy()

        def add(run: slice) -> None:
            loops.add_differences(
                *reference, codes_BF[run], known_BF[run], *fields, place_Bk[run], self.k, total_BF[run]
            )

        in_threads(add, len(total_BF))
        return torch.from_numpy(total_BF)

    def _compact(self, rows: RowBatch) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The codes of the rows in few bytes, and which are known."""
        codes_BF = compact_codes(rows.codes_BF, self.layout.sizes)
        return codes_BF, np.ones(codes_BF.shape, np.bool_) if rows.known_BF is None else rows.known_BF.numpy()


def _relative_deviation(distances: FloatArray) -> float:
    return float(distances.std() / max(distances.mean(), 1e-12))
