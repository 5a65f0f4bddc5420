"""Pairs of cells that contradict each other: each is odd beside the other, and neither is without it.

Of a row's reasons the first is hidden together with each of the next ones in turn. Where both cells then lose more than
half of the log odds that they have alone, the two contradict each other. N rows, F fields, C cells, P pairs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.explanations.odd_cells import OddCells
from maskdiff.masking import as_rows
from maskdiff.reconstructors.asked import log_odds_of
from maskdiff.reconstructors.base import Reconstructor

# How many of a row's reasons are compared with the first.
MOST_COMPARED = 5
# In each of the two cells another value must be at least twice as likely, and the cell odder for its column than this
# share of normal ones.
_ODD = math.log(2)
RARELY_AS_ODD = 0.05
_LEFT = 0.5

Fields = NDArray[np.int64]


def contradictions(
    reconstructor: Reconstructor,
    codes: Codes,
    reasons: OddCells,
    odd: BoolArray,
    *,
    mask_rate: float,
    device: Any,
    cells_at_once: int = 1 << 22,
) -> Fields:
    """The two fields of each row that contradict each other, (N, 2); -1 where none do.

    `reasons` are the first reason of each row and those it may contradict, if they are among the `odd` cells (N, F). A
    value never seen contradicts nothing: it is odd beside anything.
    """
    found = np.full((len(codes), 2), -1, dtype=np.int64)

    def ask(row: Fields, fields: Fields) -> FloatArray:
        return _log_odds(reconstructor, codes, row, fields, mask_rate, device, cells_at_once)

    row, field, first = reasons.row, reasons.field, np.diff(reasons.row, prepend=-1) != 0
    row, field, first = _with_partners(row, field, first, (odd & codes.known)[row, field])
    alone = ask(row, np.column_stack([field, field]))[:, 0]
    own = np.zeros(codes.values.shape)
    own[row, field] = alone
    row, field, first = _with_partners(row, field, first, alone >= _ODD)
    of_row = np.zeros(len(codes), dtype=np.int64)
    of_row[row[first]] = field[first]
    row, field = row[~first], field[~first]
    pairs = np.column_stack([of_row[row], field])
    left = ask(row, pairs) / own[row[:, None], pairs]
    mutual = np.flatnonzero((left < _LEFT).all(axis=1))
    # The one that takes most away comes last, and stays.
    order = mutual[np.argsort(-left[mutual, 0], kind="stable")]
    found[row[order]] = pairs[order]
    return found


def contradicted(cells: OddCells, pairs: Fields) -> Fields:
    """The field that each of these cells contradicts, (C,); -1 where there is none.

    >>> cells = OddCells(np.array([0, 0, 1]), np.array([4, 2, 4]), np.ones(3), np.ones(3))
    >>> contradicted(cells, np.array([[4, 2], [-1, -1]]))
    array([ 2,  4, -1])
    """
    of_row = pairs[cells.row]
    is_one = of_row == cells.field[:, None]
    return np.where(is_one.any(axis=1), np.where(is_one[:, 0], of_row[:, 1], of_row[:, 0]), -1)


def _with_partners(row: Fields, field: Fields, first: BoolArray, odd: BoolArray) -> tuple[Fields, Fields, BoolArray]:
    """The odd cells of rows whose first cell is odd and at least one other."""
    n = row.max(initial=-1) + 1
    leads = np.bincount(row[odd & first], minlength=n) > 0
    follows = np.bincount(row[odd & ~first], minlength=n) > 0
    kept = odd & (leads & follows)[row]
    return row[kept], field[kept], first[kept]


def _log_odds(
    reconstructor: Reconstructor, codes: Codes, row: Fields, fields: Fields, rate: float, device: Any, at_once: int
) -> FloatArray:
    """How much likelier another value is in two cells of a row, with both hidden, in nats, (P, 2)."""
    ask, width = log_odds_of(reconstructor), codes.values.shape[1]
    answer = np.empty(fields.shape)
    step = max(1, at_once // max(width, 1))
    for at in range(0, len(row), step):
        here = slice(at, at + step)
        rows = as_rows(codes.take(row[here]), device=device)
        pair = torch.from_numpy(fields[here]).to(device)
        hidden = torch.nn.functional.one_hot(pair, width).sum(dim=1).bool().unsqueeze(1)
        views = rows.views(hidden, torch.full((1, 1), rate, device=device))
        answer[here] = ask(views)[:, 0].gather(1, pair).double().cpu().numpy()
    return answer
