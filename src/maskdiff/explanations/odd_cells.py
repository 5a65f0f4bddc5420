"""Contributions become ranked cells with the values that were expected there.

What was expected in a cell is what the reconstructor says with that cell hidden and all others shown: "given the rest
of this row, this is what normal rows hold there". N rows, F fields, C cells to explain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.masking import MaskedViews, as_rows
from maskdiff.reconstructors.base import Reconstructor


class CellPlaces(Protocol):
    """Cells by their places, each array of shape (C,)."""

    @property
    def row(self) -> NDArray[np.int64]: ...

    @property
    def field(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, eq=False)
class Places:
    """Nothing but places, each array of shape (C,)."""

    row: NDArray[np.int64]
    field: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OddCells:
    """The cells that carry the scores, row by row, the strongest first; each array of shape (C,)."""

    row: NDArray[np.int64]
    field: NDArray[np.int64]
    contribution: FloatArray
    share: FloatArray


def odd_cells(contributions: FloatArray, top: int, strength: FloatArray | None = None) -> OddCells:
    """The `top` cells of each row that are its strongest reasons, (N, F); None: that add most to its score.

    Cells of no strength are not named.
    """
    key = contributions if strength is None else strength
    order = np.argsort(-key, axis=1, kind="stable")[:, :top]
    row, rank = np.nonzero(np.take_along_axis(key, order, axis=1) > 0)
    field = order[row, rank]
    contribution, total = contributions[row, field], contributions.sum(axis=1)[row]
    return OddCells(row, field, contribution, contribution / np.where(total > 0, total, 1.0))


def reason_strength(contributions: FloatArray, log_odds: FloatArray | None) -> FloatArray:
    """What cells are ranked by as reasons, (N, F): above 0 for those to be named.

    Given how much likelier another value was, those come first where it was likeliest by far, whatever is usual for
    their columns, and cells that hold the likeliest value are named only if no other cell of the row can be.
    """
    if log_odds is None:
        return contributions
    without = ~(log_odds > 0).any(axis=1)
    key: FloatArray = np.where(contributions > 0, log_odds, 0.0)
    strongest = contributions[without]
    key[without] = np.where(strongest == strongest.max(axis=1, keepdims=True, initial=0.0), strongest, 0.0)
    return key


def without_usual_news(strength: FloatArray, codes: Codes) -> FloatArray:
    """The strengths of reasons, (N, F), without new values in columns where most are new, unless a row has no other.

    Most names and addresses were never seen before: one more says nothing about its row.
    """
    named: FloatArray = np.where(codes.known | codes.is_new, strength, 0.0)
    return np.where((named > 0).any(axis=1, keepdims=True), named, strength)


def expected_codes(
    reconstructor: Reconstructor,
    codes: Codes,
    cells: CellPlaces,
    *,
    mask_rate: float,
    device: Any,
    cells_at_once: int = 1 << 22,
) -> tuple[NDArray[np.int64], FloatArray]:
    """The code expected in each cell, given the rest of its row, and that code's probability, each (C,).

    About `cells_at_once` cells, those of the rows included, are computed together.
    """
    expected, probability = np.empty(len(cells.row), np.int64), np.empty(len(cells.row))
    for here, pick, views in _hidden_cells(codes, cells, mask_rate, device, cells_at_once):
        guess, log_prob = reconstructor.most_likely(views)
        expected[here] = guess[:, 0].gather(1, pick)[:, 0].cpu().numpy()
        probability[here] = log_prob[:, 0].gather(1, pick)[:, 0].exp().cpu().numpy()
    return expected, probability


def own_probability(
    reconstructor: Reconstructor,
    codes: Codes,
    cells: CellPlaces,
    *,
    mask_rate: float,
    device: Any,
    cells_at_once: int = 1 << 22,
) -> FloatArray:
    """The probability of each cell's own code, given the rest of its row, (C,)."""
    probability = np.empty(len(cells.row))
    for here, pick, views in _hidden_cells(codes, cells, mask_rate, device, cells_at_once):
        probability[here] = reconstructor.log_prob(views)[:, 0].gather(1, pick)[:, 0].exp().cpu().numpy()
    return probability


def _hidden_cells(
    codes: Codes, cells: CellPlaces, mask_rate: float, device: Any, cells_at_once: int
) -> Iterator[tuple[slice, Tensor, MaskedViews]]:
    """Some of the cells at a time: which, their fields (C, 1), and one view of each one's row that hides it."""
    width = codes.values.shape[1]
    step = max(1, cells_at_once // max(width, 1))
    for at in range(0, len(cells.row), step):
        here = slice(at, at + step)
        rows = as_rows(codes.take(cells.row[here]), device=device)
        fields = torch.from_numpy(cells.field[here]).to(device)
        hidden = torch.nn.functional.one_hot(fields, width).bool().unsqueeze(1)
        yield here, fields[:, None], rows.views(hidden, torch.full((1, 1), mask_rate, device=device))


def explanation_table(
    cells: OddCells,
    surprise: FloatArray,
    expected: NDArray[np.int64],
    probability: FloatArray,
    codes: Codes,
    values: Sequence[str],
    notes: Sequence[str] | None = None,
    contradicts: Sequence[str] | None = None,
    says: BoolArray | None = None,
) -> Any:
    """One record per cell as a pandas DataFrame: `values` are the cells' own as texts, `notes` say more about them.

    `contradicts` is the other cell of a pair that is only odd together. What was expected is left out where it `says`
    nothing; None: it says something everywhere.
    """
    import pandas as pd

    fields = codes.schema.fields
    label = [fields[0 if codes.is_tokens else j].label(int(v)) for j, v in zip(cells.field, expected, strict=True)]
    if says is not None:
        label = [text if named else "" for text, named in zip(label, says.tolist(), strict=True)]
    return pd.DataFrame(
        {
            "row": cells.row,
            "column": [fields[0 if codes.is_tokens else j].name for j in cells.field],
            "value": values,
            "contribution": cells.contribution,
            "share": cells.share,
            "surprise": surprise[cells.row, cells.field],
            "expected": label,
            "expected_probability": probability,
            "contradicts": [""] * len(cells.row) if contradicts is None else contradicts,
            "oddity": "",
            "note": [""] * len(cells.row) if notes is None else notes,
        }
    )
