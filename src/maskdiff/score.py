"""Surprises become contributions, contributions become the score (Eq. 5, 6).

For every view the surprise of the hidden cells is shared among them; averaged over views this gives each cell a mean
surprise and a weight. An aggregate says how a row's cells become one number and how that number is shared out again:
the row sum of the contributions is the score. B rows, K views, F fields.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import Codes, FloatArray
from maskdiff.errors import SettingError
from maskdiff.masking import Rows, Schedule, as_rows
from maskdiff.probes import Masks, ProbeGrid
from maskdiff.progress import Callback, Progress
from maskdiff.reconstructors.base import Reconstructor

PROBABILITY_FLOOR = 1e-12
_CELLS_AT_ONCE = 1 << 25


@dataclass(frozen=True, eq=False)
class CellScores:
    """For each cell, (N, F): its mean surprise in nats over the views that hid it, and the weight of those views.

    The weights of a row add up to one (to less where empty views count as zero surprise).
    """

    surprise: FloatArray
    weight: FloatArray

    def contributions(self, aggregate: str) -> FloatArray:
        """What each cell adds to its row's score, shape (N, F)."""
        return aggregate_named(aggregate)(self.surprise, self.weight)


def _mean(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """Eq. 6: the weighted mean; each cell brings what it adds to the sum."""
    return surprise * weight


def _rms(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """Root mean square: few very odd cells count for more; shared out by squares."""
    squares = weight * surprise**2
    score = np.sqrt(squares.sum(axis=1, keepdims=True))
    shared: FloatArray = squares / np.maximum(score, 1e-30)
    return shared


def _max(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """The oddest cell alone; cells that tie share it."""
    shown = np.where(weight > 0, surprise, 0.0)
    largest = shown.max(axis=1, keepdims=True, initial=0.0)
    oddest = (shown == largest) & (largest > 0)
    shared: FloatArray = oddest * largest / np.maximum(oddest.sum(axis=1, keepdims=True), 1)
    return shared


AGGREGATES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {"mean": _mean, "rms": _rms, "max": _max}


def aggregate_named(name: str) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """The aggregate of that name."""
    if name not in AGGREGATES:
        raise SettingError(f"no aggregate is called {name!r}; choose one of {', '.join(AGGREGATES)}.")
    return AGGREGATES[name]


def score_cells(
    reconstructor: Reconstructor,
    codes: Codes,
    *,
    probes: ProbeGrid,
    schedule: Schedule,
    device: Any = "cpu",
    own: int = 0,
    callback: Callback | None = None,
    stage: str = "scoring",
) -> CellScores:
    """Probe every distinct row once and hand the answers back to the rows.

    `own` = 1: each row is scored as left out of the normal rows.
    """
    distinct, inverse, _ = codes.distinct()
    uses_level = bool(getattr(reconstructor, "uses_level", False))
    free_up_to = int(getattr(reconstructor, "free_up_to", 0))
    width = codes.values.shape[1]
    masks = probes.masks(width, schedule, per_level=uses_level, free_up_to=free_up_to)
    charge_F = torch.from_numpy(codes.schema.unseen_charge).float().to(device)
    surprise, weight = np.empty((len(distinct), width)), np.empty((len(distinct), width))
    step = max(1, _CELLS_AT_ONCE // (len(masks) * max(width, 1)))
    for at in range(0, len(distinct), step):
        rows = as_rows(distinct.take(slice(at, at + step)), device=device, own=own)
        part_surprise, part_weight = _probe(reconstructor, rows, masks, charge_F)
        surprise[at : at + step], weight[at : at + step] = part_surprise.cpu().numpy(), part_weight.cpu().numpy()
        if callback is not None:
            callback(Progress(stage, min(at + step, len(distinct)), len(distinct)))
    return CellScores(surprise[inverse], weight[inverse])


def _probe(reconstructor: Reconstructor, rows: Rows, masks: Masks, charge_F: Tensor) -> tuple[Tensor, Tensor]:
    """Mean surprise and weight of each cell, each (B, F)."""
    views = rows.views(masks.hidden(rows), masks.rate_K.to(rows.codes_BF.device).unsqueeze(0))
    surprise = reconstructor.log_prob(views).clamp(np.log(PROBABILITY_FLOOR), 0).neg_()
    if rows.known_BF is not None:
        # An unseen value stands in as the rarest one seen: charged with that one's surprise, or more.
        charge = charge_F.clamp_max(-np.log(PROBABILITY_FLOOR))
        surprise = torch.where(rows.known_BF.unsqueeze(1), surprise, torch.maximum(surprise, charge))
    n_hidden = views.hidden.sum(dim=2, keepdim=True).clamp_min(1)
    share = masks.counting(views.hidden).unsqueeze(2) * views.hidden / n_hidden
    weight_BF = share.sum(dim=1).expand(rows.codes_BF.shape)
    total_BF = surprise.mul_(share).sum(dim=1)
    return (total_BF / weight_BF.clamp_min(1e-30)).double(), weight_BF.double()
