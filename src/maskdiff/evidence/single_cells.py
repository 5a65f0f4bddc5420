"""How odd a single cell is for its column, whatever the rest of its row looks like.

A row's score averages its cells, so that one wrong cell among thirty is lost in it. Here every cell stands alone: how
much likelier than its own value was another one, given the rest of the row, and how far is that beyond what is usual
for the value and for the column? N rows, F fields, G views.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.evidence.usual_values import UsualValues
from maskdiff.masking import MaskedViews, Schedule, as_rows
from maskdiff.progress import Callback, Progress
from maskdiff.reconstructors import Reconstructor, abilities
from maskdiff.reconstructors.asked import log_odds_of
from maskdiff.reconstructors.loops import passes_in_threads, runs_in_order, runs_in_threads, runs_of, runs_to_share
from maskdiff.score import CELLS_ON_A_DEVICE, PROBABILITY_FLOOR, shares_rows, with_excess
from maskdiff.state import check
from maskdiff.state.tensors import Tensors, check_names, check_tensor

# Tables of more columns hide some cells together, so that the views of a row stay this few.
_MOST_VIEWS = 32
_CELLS_AT_ONCE = 1 << 20
# What is usual for a column is drawn towards what is usual for all as if so many rows more were known.
_ROWS_OF_ALL = 50
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class ColumnScale:
    """What is usual in each column, (F,): the median of how far normal cells are beyond the usual, and the deviation.

    A column of many values is often surprising, so that it takes more to be odd there. Deviations are drawn towards
    that of all columns: a few hundred rows cannot tell how rarely a column deviates.
    """

    median_F: FloatArray
    scale_F: FloatArray

    @classmethod
    def of(cls, beyond: FloatArray) -> ColumnScale:
        """Learned from normal rows that were not learned from, (N, F)."""
        n = len(beyond)
        median_F = np.median(beyond, axis=0)
        variance_F = ((beyond - median_F) ** 2).mean(axis=0)
        drawn_F = (n * variance_F + _ROWS_OF_ALL * variance_F.mean()) / (n + _ROWS_OF_ALL)
        return cls(median_F, np.sqrt(np.clip(drawn_F, 1e-4, None)))

    def oddness(self, beyond: FloatArray, known: BoolArray) -> FloatArray:
        """How far each cell is beyond what is usual for its column, in standard deviations, (N, F)."""
        scaled: FloatArray = (beyond - self.median_F) / self.scale_F
        # A column cannot make a value usual that it never held.
        return np.where(known, scaled, np.maximum(scaled, beyond / self.scale_F.min(initial=1.0)))

    def to_tensors(self) -> dict[str, Tensor]:
        """The medians and the scales."""
        return {"median": torch.from_numpy(self.median_F), "scale": torch.from_numpy(self.scale_F)}

    @classmethod
    def from_tensors(cls, tensors: Tensors, n_fields: int) -> Self:
        """What `to_tensors` gave."""
        check_names(tensors, "median", "scale")
        for name, tensor in tensors.items():
            check_tensor(name, tensor, (n_fields,), torch.float64)
            check(bool((tensor.abs() <= _LARGEST).all()), f"its {name} of columns is out of range")
        check(bool((tensors["scale"] >= 1e-3).all()), "its scale of columns is out of range")
        return cls(*(tensors[name].numpy().copy() for name in ("median", "scale")))


@dataclass(frozen=True, eq=False)
class SingleCells:
    """Log odds of the likeliest value against a cell's own, in nats, each cell hidden and the others shown.

    `log_odds` asks only a reconstructor that has them; of others the surprise of their own probes is taken instead.
    `usual` says what is usual for values, `scale` for columns; None: not learned.
    """

    reconstructor: Reconstructor
    schedule: Schedule
    level: float
    device: Any = "cpu"
    usual: UsualValues | None = None
    scale: ColumnScale | None = None

    @property
    def asks(self) -> bool:
        """Whether the reconstructor is asked about each cell."""
        return abilities(self.reconstructor).log_odds is not None

    def with_usual_values(self, codes: Codes, *, callback: Callback | None = None) -> SingleCells:
        """A copy that knows what is usual for each value, from rows that were learned from: they are many."""
        log_odds = self.asked(codes, stage="calibrating", callback=callback)
        return replace(self, usual=UsualValues.of(codes, log_odds))

    def beyond(self, log_odds: FloatArray, codes: Codes) -> FloatArray:
        """How far the log odds of each cell are beyond those that its value usually has, in nats, (N, F)."""
        return log_odds if self.usual is None else np.maximum(log_odds - self.usual.of_cells(codes), 0.0)

    def learned(self, beyond: FloatArray) -> SingleCells:
        """A copy that knows what is usual in each column, from normal rows that were not learned from."""
        return replace(self, scale=ColumnScale.of(beyond))

    def oddness(self, log_odds: FloatArray, codes: Codes) -> FloatArray:
        """How far each cell is beyond what is usual for its value and its column, in standard deviations, (N, F)."""
        scale, bare, oddness = self.scale, codes.without_excess(), np.empty(log_odds.shape)
        assert scale is not None

        def judge(run: slice) -> None:
            here = bare.take(run)
            oddness[run] = scale.oddness(self.beyond(log_odds[run], here), here.known)

        passes_in_threads(judge, oddness.shape)
        return oddness

    def log_odds(
        self, codes: Codes, surprise: FloatArray, *, stage: str = "scoring", callback: Callback | None = None
    ) -> FloatArray:
        """How much likelier another value was, in nats, (N, F): 0 where the cell holds the likeliest one.

        Where the reconstructor has no `log_odds`, the surprise that is given: to ask it would take as long again.
        """
        return self.asked(codes, stage=stage, callback=callback) if self.asks else surprise

    def asked(self, codes: Codes, *, stage: str = "scoring", callback: Callback | None = None) -> FloatArray:
        """The same, whatever the reconstructor: one without `log_odds` is asked for its two answers."""
        return with_excess(self._answers(log_odds_of(self.reconstructor), codes, stage, callback), codes)

    def surprise(self, codes: Codes) -> FloatArray:
        """How surprising each cell's value is, given the rest of its row, in nats, (N, F); a number beyond the range
        as much as the one that it is nearest to.
        """
        return self._answers(lambda views: -self.reconstructor.log_prob(views), codes, "scoring", None)

    def _answers(
        self, ask: Callable[[MaskedViews], Tensor], codes: Codes, stage: str, callback: Callback | None
    ) -> FloatArray:
        """What is answered about each cell, (N, F), where each is hidden in one view."""
        distinct, inverse, _ = codes.without_excess().distinct()
        charge_F = torch.from_numpy(codes.schema.unseen_charge).float().to(self.device)
        hidden_GF = self.hidden_views(distinct.values.shape[1])
        rate = self.schedule.mask_rate(torch.tensor(self.level)).reshape(1, 1).to(self.device)
        answer = np.empty(distinct.values.shape)

        def ask_about(run: slice) -> None:
            rows = as_rows(distinct.take(run), device=self.device)
            answer_BGF = ask(rows.views(hidden_GF.unsqueeze(0), rate.expand(1, len(hidden_GF))))
            nats_BF = torch.where(hidden_GF, answer_BGF, 0.0).sum(dim=1)  # each cell is hidden in one view
            if rows.known_BF is not None:  # the value that stands in for an unseen one is at least as likely
                nats_BF = torch.where(rows.known_BF, nats_BF, torch.maximum(nats_BF, charge_F))
            answer[run] = nats_BF.clamp_(0, -np.log(PROBABILITY_FLOOR)).double().cpu().numpy()

        def report(n_rows: int) -> None:
            if callback is not None:
                callback(Progress(stage, n_rows, len(distinct)))

        at_once = _CELLS_AT_ONCE if torch.device(self.device).type == "cpu" else CELLS_ON_A_DEVICE
        step = max(1, at_once // max(hidden_GF.numel(), 1))
        if shares_rows(codes, self.device):
            runs_in_threads(ask_about, runs_to_share(len(distinct), step), done=report)
        else:
            runs_in_order(ask_about, runs_of(len(distinct), step), done=report)
        return answer[inverse]

    def hidden_views(self, n_fields: int) -> Tensor:
        """Which cells each view hides, (G, F): one each, or in wide tables cells drawn by lot, every cell once."""
        return _hidden_views(n_fields).to(self.device)


@lru_cache(maxsize=64)
def _hidden_views(n_fields: int) -> Tensor:
    """See `SingleCells.hidden_views`; drawn once for all calls, so that a single row does not wait for them."""
    group_F = np.arange(n_fields)
    if n_fields > _MOST_VIEWS:
        group_F = np.random.default_rng(0).permutation(n_fields) % _MOST_VIEWS
    return torch.nn.functional.one_hot(torch.from_numpy(group_F), min(n_fields, _MOST_VIEWS)).T.bool()
