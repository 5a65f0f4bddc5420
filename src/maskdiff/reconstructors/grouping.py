"""Kernel votes for one mask that many rows share.

What a reference row weighs depends only on its visible cells, so reference rows that look alike through the mask are
one group, and so are the rows that ask. The visible positions enter one matrix product, the hidden ones the other:
about a quarter of the work of treating every masked row for itself on tables of a hundred thousand rows.

B rows, N reference rows, F fields; G groups of reference rows, A groups of rows that ask; P positions (see layout).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import distinct_rows
from maskdiff.reconstructors.layout import Layout

_FLOATS_AT_ONCE = 1 << 25


def shared_mask_probabilities(
    rows_BF: Tensor,
    shown_BF: Tensor,
    hidden_F: Tensor,
    reference_NF: Tensor,
    counts_N: Tensor,
    sizes: np.ndarray[Any, Any],
    bandwidth: float,
) -> Tensor:
    """p(true code | visible cells) under one mask, (B, F); 1 where nothing was asked. Eq. 7 for all rows at once."""
    answer_BF = torch.ones(rows_BF.shape, device=rows_BF.device)
    asked, seen = hidden_F.nonzero()[:, 0], (~hidden_F).nonzero()[:, 0]
    if not len(asked):
        return answer_BF
    asked_layout = Layout(sizes[asked.cpu().numpy()]).to(rows_BF.device)
    seen_layout = Layout(sizes[seen.cpu().numpy()]).to(rows_BF.device)
    group_N, first_G = _groups(reference_NF[:, seen])
    votes_GP = _count_codes(
        group_N, len(first_G), counts_N, asked_layout.positions(reference_NF[:, asked]), asked_layout
    )
    counts_G = torch.zeros(len(first_G), device=rows_BF.device).index_add_(0, group_N, counts_N.float())
    look_GP = seen_layout.one_hot(reference_NF[first_G][:, seen])

    group_B, first_A = _groups(torch.where(shown_BF, rows_BF, -1)[:, seen])
    ask_AP = seen_layout.one_hot(rows_BF[first_A][:, seen]) * shown_BF[first_A][:, seen][:, seen_layout.field_P]
    true_BF = asked_layout.positions(rows_BF[:, asked])
    for groups, members in _runs(group_B, len(first_A), len(first_G) + asked_layout.size):
        weight_GA = (look_GP @ ask_AP[groups].T).mul_(bandwidth)
        weight_GA = weight_GA.sub_(weight_GA.amax(dim=0)).exp_()
        total_A = counts_G @ weight_GA
        probability_AP = (votes_GP.T @ weight_GA).div_(total_A).T
        mine = group_B[members] - groups.start
        answer_BF[members[:, None], asked] = probability_AP[mine[:, None], true_BF[members]]
    return answer_BF


def _groups(codes: Tensor) -> tuple[Tensor, Tensor]:
    """The group of equal rows that each row is in, and the first row of each group."""
    first, group, _ = distinct_rows(codes.to(torch.int32).cpu().numpy())
    return torch.from_numpy(group).to(codes.device), torch.from_numpy(first).to(codes.device)


def _count_codes(group_N: Tensor, n_groups: int, counts_N: Tensor, place_NF: Tensor, layout: Layout) -> Tensor:
    """How many rows of each group hold each code, (G, P)."""
    votes = torch.zeros(n_groups * layout.size, device=place_NF.device)
    cells = group_N[:, None] * layout.size + place_NF
    votes.index_add_(0, cells.flatten(), counts_N.float()[:, None].expand(place_NF.shape).flatten())
    return votes.view(n_groups, layout.size)


def _runs(group_B: Tensor, n_groups: int, floats_each: int) -> Iterator[tuple[slice, Tensor]]:
    """Runs of groups small enough for memory, each with the rows that belong to it."""
    order = group_B.argsort()
    step = max(1, _FLOATS_AT_ONCE // floats_each)
    starts = torch.arange(0, n_groups + step, step, device=group_B.device).clamp_max(n_groups)
    cuts = torch.searchsorted(group_B[order], starts).tolist()
    for at, (begin, end) in enumerate(pairwise(cuts)):
        yield slice(at * step, min((at + 1) * step, n_groups)), order[begin:end]
