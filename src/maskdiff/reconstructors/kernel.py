"""The non-parametric reconstructor: normal rows vote, each by how well it agrees with the visible cells (Eq. 7).

Write q = exp(-lambda) and G(V) = sum over reference rows of q^(cells of V they disagree on). Then Eq. 7's denominator
is G(V), and since a hidden cell j that agrees keeps its factor 1 where one that disagrees would get q,

    p(x_j | V) = (G(V + j) / G(V) - q) / (1 - q).

Narrow tables: G for every subset V (see `kernel_lattice`), so all 2^F masks cost little more than one. Wide tables: a
reference row matters to a row only through the fields they agree on, so the masks meet these F numbers in one product,
and the votes of the hidden fields are another; how many codes a field has does not count. A CPU takes a shorter way,
where numba can compile it (see `kernel_patterns`). Equal reference rows are kept once, with their number.
B rows, K views, R = B * K, F fields, N reference rows, P positions (see layout).
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from maskdiff.codes import Codes, IntArray, Schema, distinct_rows
from maskdiff.errors import SettingError
from maskdiff.masking import MaskedViews
from maskdiff.reconstructors.base import State
from maskdiff.reconstructors.kernel_lattice import (
    agreeing_subsets,
    answers_of_lattice,
    compiled_subset_counts,
    one_by_one_is_less,
    subset_counts,
)
from maskdiff.reconstructors.layout import Layout
from maskdiff.reconstructors.loops import in_threads, load_loops
from maskdiff.reconstructors.reference import ReferenceRows, compact_codes
from maskdiff.state import Parameters, arguments_from_plain, arguments_to_plain
from maskdiff.state.tensors import Tensors

# Outside these bounds exp(-bandwidth) is 1 or 0 to every digit, and ratios of votes have no value.
BANDWIDTHS = (1e-6, 1000.0)
_LEAST = 1e-30
_LATTICE, _PATTERNS = (f"maskdiff.reconstructors.{name}" for name in ("lattice_loops", "kernel_patterns"))


@dataclass(eq=False)
class KernelReconstructor(Parameters):
    """Hamming-kernel estimate over the normal rows, with bandwidth lambda. Nothing is trained."""

    bandwidth: float = 1.0

    # Up to this many fields all masks are answered from the lattice of subsets, at no extra cost.
    free_up_to: ClassVar[int] = 12
    # Whether a CPU may use compiled loops.
    compiles: ClassVar[bool] = True
    # Few enough to stay in a processor's cache; enough to keep an accelerator, or a product with many codes, busy.
    floats_at_once: ClassVar[int] = 1 << 19
    floats_on_a_device: ClassVar[int] = 1 << 27
    floats_for_votes: ClassVar[int] = 1 << 24
    # So many numbers may be kept beside the reference rows to look their agreements up.
    floats_kept: ClassVar[int] = 1 << 25
    # Above this many positions per field the one-hot rows are kept sparse: a dense product would mostly multiply zeros.
    dense_positions: ClassVar[int] = 48

    def __post_init__(self) -> None:
        low, high = BANDWIDTHS
        if not low <= self.bandwidth <= high:
            raise SettingError(f"bandwidth must be above 0, from {low:g} to {high:g}; got {self.bandwidth}.")

    @classmethod
    def paper(cls) -> KernelReconstructor:
        """Bandwidth 1, all normal rows as reference."""
        return cls(1.0)

    @property
    def tunes(self) -> bool:
        """Nothing is trained, so held-out rows decide nothing."""
        return False

    def fit(self, codes: Codes, *, device: torch.device, **_: Any) -> Self:
        """A copy over these rows, equal ones kept once with their number."""
        return self._over(ReferenceRows.of(codes, device), codes.schema)

    def over(self, codes: Codes, counts: IntArray, *, device: torch.device) -> Self:
        """A copy over these distinct rows, each as often as `counts` says."""
        values, times = torch.from_numpy(codes.values.astype(np.int64)), torch.from_numpy(counts.astype(np.int64))
        return self._over(ReferenceRows(values.to(device), times.to(device)), codes.schema)

    def _over(self, reference: ReferenceRows, schema: Schema) -> Self:
        fitted = copy.copy(self)
        fitted.codes_NF, fitted.counts_N = reference.codes_NF, reference.counts_N
        fitted.layout = Layout(schema.sizes).to(fitted.codes_NF.device)
        fitted.sizes = schema.sizes
        fitted.leave_one_out = False
        fitted._one_hot = fitted._look_up_PN = fitted._compacted = None
        return fitted

    def left_out(self) -> Self:
        """The same estimate for rows that are among the reference rows, each as if it were not."""
        other = copy.copy(self)
        other.leave_one_out = True
        return other

    def describe(self) -> str:
        """What it is, in words."""
        return f"a kernel over normal rows: {self!r}"

    def to_state(self) -> State:
        """The settings, and the reference rows."""
        return arguments_to_plain(self), ReferenceRows(self.codes_NF, self.counts_N).to_tensors()

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The reconstructor that `to_state` described."""
        bare = cls(**arguments_from_plain(cls, plain))
        return bare._over(ReferenceRows.from_tensors(tensors, schema, device), schema)

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible cells), shape (B, K, F)."""
        if len(self.sizes) <= self.free_up_to and self.codes_NF.device.type != "mps":
            return self._from_lattice(views)
        loops = self._loops(_PATTERNS)
        return self._from_agreements(views) if loops is None else self._from_patterns(views, loops)

    def most_likely(self, views: MaskedViews) -> tuple[Tensor, Tensor]:
        """The code it would have guessed for each cell, and its log-probability, each (B, K, F)."""
        shape = (views.n_rows, views.n_views, len(self.sizes))
        codes = torch.empty(shape, dtype=torch.int64, device=views.codes_BF.device)
        log_prob = torch.empty(shape, device=views.codes_BF.device)
        for rows, _, weight_BNK in self._weights(views, self.floats_for_votes):
            weight_NR = weight_BNK.transpose(0, 1).flatten(1)
            largest_RF, codes_RF = self.layout.largest((self._codes_PN() @ weight_NR).T)
            codes[rows] = codes_RF.view(codes[rows].shape)
            log_prob[rows] = (largest_RF / weight_NR.sum(dim=0)[:, None]).log_().view(codes[rows].shape)
        return codes, log_prob

    def _loops(self, module: str) -> Any:
        """The compiled loops of a module, on a CPU with numba; else None."""
        return load_loops(module) if self.compiles and self.codes_NF.device.type == "cpu" else None

    def _compact(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The reference rows in as few bytes as their codes need, field by field, and their numbers."""
        if self._compacted is None:
            self._compacted = compact_codes(self.codes_NF.T, self.sizes), self.counts_N.double().numpy()
        return self._compacted

    # Narrow tables ---------------------------------------------------------------------------------------------------

    def _from_lattice(self, views: MaskedViews) -> Tensor:
        """All answers from G on the lattice of subsets."""
        loops, shape = self._loops(_LATTICE), (len(self.sizes), len(self.counts_N), views.n_rows)
        if loops is not None and one_by_one_is_less(*shape):
            count_BS = compiled_subset_counts(*self._compact(), compact_codes(views.codes_BF, self.sizes), loops)
        else:
            count_BS = subset_counts(self.codes_NF, self.counts_N, views.codes_BF, self.sizes)
        if self.leave_one_out:  # while counts are whole numbers and nothing is lost to rounding
            count_BS -= agreeing_subsets(views.codes_BF, _own_codes(views))
        answer = answers_of_lattice(count_BS, views.visible, math.exp(-self.bandwidth), loops)
        return answer.clamp_min_(_LEAST).log_()

    # Wide tables -----------------------------------------------------------------------------------------------------

    def _from_patterns(self, views: MaskedViews, loops: Any) -> Tensor:
        """All answers from patterns of agreement; rows that are too far from all reference rows by products."""
        codes_FN, counts_N = self._compact()
        rows_BF, visible = compact_codes(views.codes_BF, self.sizes), np.ascontiguousarray(views.visible.numpy())
        own_B = self._own_places(_own_codes(views)).numpy() if self.leave_one_out else np.full(len(rows_BF), -1)
        answer = torch.empty(views.n_rows, views.n_views, len(self.sizes))
        answer_BKF, answered_B, q = answer.numpy(), np.empty(len(rows_BF), np.bool_), math.exp(-self.bandwidth)

        def answer_run(run: slice) -> None:
            shown = visible if len(visible) == 1 else visible[run]
            answered_B[run] = loops.answer_rows(codes_FN, counts_N, rows_BF[run], shown, own_B[run], q, answer_BKF[run])

        in_threads(answer_run, len(rows_BF))
        answer.clamp_min_(_LEAST).log_()
        places_B = torch.from_numpy(own_B) if self.leave_one_out else None
        for b in np.flatnonzero(~answered_B).tolist():
            own_1 = None if places_B is None else places_B[b : b + 1]
            answer[b] = self._from_agreements(views.rows(b, b + 1), own_1)[0]
        return answer

    def _from_agreements(self, views: MaskedViews, own_B: Tensor | None = None) -> Tensor:
        """All answers from the fields on which the reference rows agree with the row; `own_B` as for `_weights`."""
        at_once = self.floats_at_once if self.codes_NF.device.type == "cpu" else self.floats_on_a_device
        # One piece from the start: parts kept between large numbers that come and go would tear the memory into shreds.
        answer = torch.empty(views.n_rows, views.n_views, len(self.sizes), device=views.codes_BF.device)
        for rows, agree_BFN, weight_BNK in self._weights(views, at_once, own_B):
            votes_BFK = torch.bmm(agree_BFN[:, 1:], weight_BNK)
            total_B1K = votes_BFK[:, :1].clamp_min(_LEAST)
            torch.div(votes_BFK[:, 1:].transpose(1, 2), total_B1K.transpose(1, 2), out=answer[rows])
        return answer.clamp_min_(_LEAST).log_()

    def _weights(
        self, views: MaskedViews, floats_at_once: int, own_B: Tensor | None = None
    ) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Runs of rows: how they agree with each reference row, (B, 2 + F, N), and its weight in each view, (B, N, K).

        Before the fields, whether the rows agree on them, stand the log of the reference row's number and a one: so the
        products that use the fields take these along. Weights are relative to the largest. `own_B` are the places of
        the rows among the reference rows where they are left out of them (None: they are looked for). All runs are
        written to the same place: to be given new memory each time would take as long as to fill it.
        """
        if self.leave_one_out and own_B is None:
            own_B = self._own_places(_own_codes(views))
        log_count_N = self.counts_N.log().float()
        step = max(1, floats_at_once // (len(log_count_N) * (len(self.sizes) + views.n_views)))
        query = views.visible.float().mul(self.bandwidth).transpose(1, 2)
        query_FK = functional.pad(query, (0, 0, 2, 0)).index_fill_(1, torch.tensor([0], device=query.device), 1.0)
        most, n_reference = min(step, views.n_rows), len(log_count_N)
        room_BFN = query.new_empty(most, query_FK.shape[1], n_reference)
        room_BNK = query.new_empty(most, n_reference, views.n_views)
        for at in range(0, views.n_rows, step):
            part = views.rows(at, at + step)
            agree_BFN, log_weight_BNK = room_BFN[: part.n_rows], room_BNK[: part.n_rows]
            self._find_agreements(part.codes_BF, log_count_N, agree_BFN)
            query_BFK = (query_FK if len(query_FK) == 1 else query_FK[at : at + step]).expand(part.n_rows, -1, -1)
            torch.bmm(agree_BFN.transpose(1, 2), query_BFK, out=log_weight_BNK)
            if own_B is not None:
                own = torch.arange(part.n_rows, device=own_B.device), own_B[at : at + step]
                others_B = (self.counts_N[own[1]] - 1).clamp_min(0).float()
                log_weight_BNK[own] += (others_B.log() - log_count_N[own[1]])[:, None]
            # Only ratios matter: dividing by the largest keeps far-off rows from vanishing all at once.
            largest = log_weight_BNK.amax(dim=1, keepdim=True).clamp_min_(-1e30)
            yield slice(at, at + step), agree_BFN, log_weight_BNK.sub_(largest).exp_()

    def _find_agreements(self, codes_BF: Tensor, log_count_N: Tensor, agree_BFN: Tensor) -> None:
        """Fill in what `_weights` says: looked up in one-hot reference rows where these are few, else compared."""
        if self._look_up_PN is None and self.layout.size * len(log_count_N) <= self.floats_kept:
            ones = torch.ones_like(log_count_N)
            self._look_up_PN = torch.cat([log_count_N[None], ones[None], self.layout.one_hot(self.codes_NF).T])
        if self._look_up_PN is not None:
            place_BF = functional.pad(self.layout.positions(codes_BF) + 2, (2, 0))
            place_BF[:, 1] = 1
            torch.index_select(self._look_up_PN, 0, place_BF.flatten(), out=agree_BFN.flatten(0, 1))
            return
        agree_BFN[:, 0], agree_BFN[:, 1] = log_count_N, 1.0
        agree_BFN[:, 2:] = codes_BF.unsqueeze(2) == self.codes_NF.T

    def _codes_PN(self) -> Tensor:
        """The reference rows as one-hot; dense or sparse, whichever is smaller."""
        if self._one_hot is None:
            if self.layout.size <= self.dense_positions * len(self.sizes):
                self._one_hot = self.layout.one_hot(self.codes_NF).T
            else:
                place = self.layout.positions(self.codes_NF).sort(dim=1).values
                start = torch.arange(0, place.numel() + 1, len(self.sizes), device=place.device)
                shape = (len(place), self.layout.size)
                ones = torch.ones(place.numel(), device=place.device)
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
                    sparse = torch.sparse_csr_tensor(start, place.flatten(), ones, shape, check_invariants=False)
                    self._one_hot = sparse.to_sparse_csc().transpose(0, 1)
        return self._one_hot

    def _own_places(self, codes_BF: Tensor) -> Tensor:
        """Where each row stands among the reference rows, (B,)."""
        reference, rows = self.codes_NF.cpu().numpy(), codes_BF.cpu().numpy()
        _, group, _ = distinct_rows(np.concatenate([reference, rows]))
        place_of = np.zeros(group.max() + 1, np.int64)
        place_of[group[: len(reference)]] = np.arange(len(reference))
        return torch.from_numpy(place_of[group[len(reference) :]]).to(codes_BF.device)

    codes_NF: Tensor = field(init=False, repr=False)
    counts_N: Tensor = field(init=False, repr=False)
    layout: Layout = field(init=False, repr=False)
    sizes: np.ndarray[Any, Any] = field(init=False, repr=False)
    leave_one_out: bool = field(init=False, repr=False, default=False)
    _one_hot: Tensor | None = field(init=False, repr=False, default=None)
    _look_up_PN: Tensor | None = field(init=False, repr=False, default=None)
    _compacted: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = field(init=False, repr=False, default=None)


def _own_codes(views: MaskedViews) -> Tensor:
    """The rows as they stand among the reference rows, (B, F); values only one row had are replaced by others."""
    return views.codes_BF if views.own_BF is None else views.own_BF
