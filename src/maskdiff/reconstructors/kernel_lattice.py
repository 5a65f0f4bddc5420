"""The kernel of a narrow table, for all masks at once.

G(V) = sum over reference rows of q^(cells of V they disagree on), for every subset V of the fields, follows from how
many reference rows agree with the row on each subset, by one butterfly per field. See `kernel` for what G is good for.
B rows, K views, F fields, N reference rows, S = 2^F subsets, each the bits of its number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from maskdiff.codes import FloatArray
from maskdiff.reconstructors.loops import in_threads

# Where all weights vanish, ratios of them are zero.
_LEAST_TOTAL = 1e-290
# So many numbers are held at once on an accelerator, a few times: half a gigabyte.
_MOST_AT_ONCE = 1 << 26


def answers_of_lattice(count_BS: Tensor, visible: Tensor, q: float, loops: Any = None) -> Tensor:
    """p(true code | visible cells), (B, K, F), from the number of reference rows that agree on each subset."""
    n_fields, weight_BS = visible.shape[2], count_BS
    if loops is not None:
        return _compiled_answers(count_BS, visible, q, loops)
    for j in range(n_fields):  # the butterfly of field j: agree -> 1, disagree -> q
        without, with_j = weight_BS.unflatten(1, (-1, 2, 1 << j)).unbind(dim=2)
        with_j.mul_(1 - q).add_(without, alpha=q)
    seen = (visible * _bits(n_fields, weight_BS.device)).sum(dim=2)
    total = _look_up(weight_BS, seen).clamp_min_(torch.finfo(weight_BS.dtype).tiny)
    answer = torch.empty(len(weight_BS), visible.shape[1], n_fields, device=weight_BS.device)
    for j in range(n_fields):  # one field at a time keeps the double-precision numbers few
        ratio = _look_up(weight_BS, seen | 1 << j).div_(total)
        answer[:, :, j] = ratio.sub_(q).div_(1 - q)
    return answer


def _compiled_answers(count_BS: Tensor, visible: Tensor, q: float, loops: Any) -> Tensor:
    n_fields = visible.shape[2]
    answer = torch.empty(len(count_BS), visible.shape[1], n_fields)
    weight_BS, answer_BKF = count_BS.numpy(), answer.numpy()
    seen = (visible * _bits(n_fields, visible.device)).sum(dim=2).numpy()

    def answer_run(run: slice) -> None:
        loops.answer_subsets(weight_BS[run], seen if len(seen) == 1 else seen[run], q, _LEAST_TOTAL, answer_BKF[run])

    in_threads(answer_run, len(weight_BS))
    return answer


def agreeing_subsets(codes_BF: Tensor, others_BF: Tensor) -> Tensor:
    """Whether each row agrees with the other one on each subset, as 0.0 and 1.0, (B, S)."""
    bit_F = _bits(codes_BF.shape[1], codes_BF.device)
    differs_B = ((others_BF != codes_BF) * bit_F).sum(dim=1)
    subsets_S = torch.arange(1 << len(bit_F), device=bit_F.device)
    return ((differs_B[:, None] & subsets_S) == 0).double()


def compiled_subset_counts(codes_FN: NDArray[Any], counts_N: FloatArray, rows_BF: NDArray[Any], loops: Any) -> Tensor:
    """The same as `subset_counts`, one row after the other; the codes as `compact_codes` gives them."""
    count_BS = torch.empty(len(rows_BF), 1 << len(codes_FN), dtype=torch.float64)

    def count(run: slice) -> None:
        loops.count_subsets(codes_FN, counts_N, rows_BF[run], count_BS.numpy()[run])

    in_threads(count, len(rows_BF))
    return count_BS


def one_by_one_is_less(n_fields: int, n_references: int, n_rows: int) -> bool:
    """Whether to count for each row on its own is less work than to visit all subsets: by measured times of steps."""
    of_rows = n_rows * (n_references * 2 + n_fields * (1 << n_fields)) / torch.get_num_threads()
    return of_rows < (1 << n_fields) * (n_references * 8 + n_rows * 4)


def _bits(n_fields: int, device: torch.device) -> Tensor:
    return 1 << torch.arange(n_fields, device=device)


def _look_up(table_BS: Tensor, index: Tensor) -> Tensor:
    """Each row's entries at `index`, (1 or B, I) -> (B, I)."""
    return table_BS[:, index[0]] if len(index) == 1 else table_BS.gather(1, index)


def subset_counts(reference_NF: Tensor, counts_N: Tensor, rows_BF: Tensor, sizes: np.ndarray[Any, Any]) -> Tensor:
    """How many reference rows agree with each row on each subset of fields, (B, 2^F), subset S as the bits of S.

    An accelerator, which takes long to start an operation, splits many subsets at once, where memory allows.
    """
    n_cells = max(len(reference_NF) * int(size) << j for j, size in enumerate(sizes))
    n_groups = (len(reference_NF) + len(rows_BF)) << (len(sizes) - 1)
    if rows_BF.device.type != "cpu" and max(n_cells, n_groups) <= _MOST_AT_ONCE:
        return counts_by_field(reference_NF, counts_N, rows_BF, sizes)
    return counts_by_subset(reference_NF, counts_N, rows_BF, sizes)


def counts_by_field(reference_NF: Tensor, counts_N: Tensor, rows_BF: Tensor, sizes: np.ndarray[Any, Any]) -> Tensor:
    """The counts of `subset_counts`: all subsets of the first fields are split by the next one, M of them at once."""
    n_fields, device = len(sizes), rows_BF.device
    table_SB = torch.empty(1 << n_fields, len(rows_BF), dtype=torch.float64, device=device)
    table_SB[0] = counts_N.sum()
    # The groups of agreeing rows, numbered from 1 within each subset: see `counts_by_subset`.
    group_MN = torch.ones(1, len(reference_NF), dtype=torch.int64, device=device)
    group_MB = torch.ones(1, len(rows_BF), dtype=torch.int64, device=device)
    n_groups_M = torch.tensor([2], device=device)
    weight_N = counts_N.double()
    for j, size in enumerate(map(int, sizes)):
        start_M = n_groups_M.cumsum(0) - n_groups_M  # each subset has cells of its own
        cell_MN, cell_MB = (
            (start_M[:, None] + group) * size + codes[:, j]
            for group, codes in ((group_MN, reference_NF), (group_MB, rows_BF))
        )
        counts = torch.zeros(int(n_groups_M.sum()) * size, dtype=torch.float64, device=device)
        counts.index_add_(0, cell_MN.flatten(), weight_N.repeat(len(cell_MN)))
        counts.unflatten(0, (-1, size))[start_M] = 0
        table_SB[1 << j : 2 << j] = counts[cell_MB]
        if j == n_fields - 1:
            break
        filled = counts > 0
        name = filled.cumsum(0)
        before_M = functional.pad(name, (1, 0))[start_M * size]
        split_MN, split_MB = ((name[cell] - before_M[:, None]) * filled[cell] for cell in (cell_MN, cell_MB))
        n_split_M = torch.diff(before_M, append=name[-1:]) + 1
        group_MN, group_MB = torch.cat([group_MN, split_MN]), torch.cat([group_MB, split_MB])
        n_groups_M = torch.cat([n_groups_M, n_split_M])
    return table_SB.T.contiguous()


def counts_by_subset(reference_NF: Tensor, counts_N: Tensor, rows_BF: Tensor, sizes: np.ndarray[Any, Any]) -> Tensor:
    """The counts of `subset_counts`. Subsets are visited depth first.

    A subset's groups of agreeing reference rows are its parent's, split by one more field: one count over
    (group, code) and one look-up, with no sorting, since there are never more groups than rows.
    """
    n_fields = len(sizes)
    # One subset or field after the other is read and written: they go first, so that each is one piece.
    table_SB = torch.empty(1 << n_fields, len(rows_BF), dtype=torch.float64, device=rows_BF.device)
    reference_FN, rows_FB = reference_NF.T.contiguous(), rows_BF.T.contiguous()
    counts_N = counts_N.double()

    def visit(subset: int, field_: int, group_N: Tensor, group_B: Tensor, n_groups: int, all_counts: Tensor) -> None:
        table_SB[subset] = all_counts
        for j in range(field_, n_fields):
            size = int(sizes[j])
            cell_N = group_N * size + reference_FN[j]
            # Rows that agree with no reference row so far sit in group 0, whose count is 0.
            cell_B = group_B * size + rows_FB[j]
            counts = torch.bincount(cell_N, weights=counts_N, minlength=n_groups * size)
            counts[:size] = 0
            if j == n_fields - 1:  # half of all subsets: there is nothing left to split them by
                table_SB[subset | 1 << j] = counts[cell_B]
                return
            filled = counts > 0
            name = filled.cumsum(0) * filled
            visit(subset | 1 << j, j + 1, name[cell_N], name[cell_B], int(filled.sum()) + 1, counts[cell_B])

    everyone = torch.ones_like(counts_N, dtype=torch.int64)
    total = counts_N.sum().expand(len(rows_BF))
    visit(0, 0, everyone, torch.ones(len(rows_BF), dtype=torch.int64, device=rows_BF.device), 2, total)
    return table_SB.T.contiguous()
