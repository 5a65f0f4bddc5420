"""The parametric reconstructor for tables: one network that answers all fields at once.

The first layer of a network on one-hot cells (or on concatenated embeddings) is a table lookup: a sum over visible
cells of one vector per code. The heads of all fields are one matrix. R masked rows, F fields, P positions (see
layout), H hidden units, E embedding size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.codes import Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.errors import SettingError
from maskdiff.masking import MaskedViews
from maskdiff.reconstructors.dropout import ByteDropout
from maskdiff.reconstructors.growth import take_over
from maskdiff.reconstructors.layout import Layout
from maskdiff.reconstructors.trained import TrainedReconstructor
from maskdiff.training import Epochs, Training

_VIEWS_AT_ONCE = 16
# The whole grid, a first look and single cells: the masks of all are kept.
_MASKS_KEPT = 4


class MaskedMLP(nn.Module):
    """Visible cells in, log-probabilities of every field's codes out."""

    # See TokenNetwork: nothing here depends on values either.
    can_be_recorded = True
    input_rows: str
    # A matrix product does about this many multiplications in the time one gathered number takes.
    product_gain = 25

    def __init__(
        self, schema: Schema, *, width: int, layers: int, embedding: int | None, dropout: float, uses_level: bool
    ) -> None:
        super().__init__()
        self.layout = Layout(schema.sizes)
        self._kept_parts: dict[Any, tuple[list[Tensor], list[tuple[Layout, Tensor]]]] = {}
        self.embedding = embedding
        self.input_rows = "table_PH" if embedding is None else "codes_PE"
        n_fields = len(schema)
        if embedding is None:
            self.table_PH = nn.Parameter(torch.empty(self.layout.size, width).normal_().div_(n_fields**0.5))
        else:
            # Small starting values: with unit ones each step moves the folded table so far that small tables are
            # learnt by heart within the 20 epochs.
            self.codes_PE = nn.Parameter(torch.empty(self.layout.size, embedding).normal_().mul_(0.02))
            self.mask_FE = nn.Parameter(torch.empty(n_fields, embedding).normal_().mul_(0.02))
            self.mix_FEH = nn.Parameter(_uniform_like_linear(n_fields, embedding, width))
        self.bias_H = nn.Parameter(torch.zeros(width))
        self.level = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width)) if uses_level else None
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(layers - 1))
        self.dropout = ByteDropout(dropout)
        self.head = nn.Linear(width, self.layout.size)

    def draw_from(self, generator: Generator | None) -> None:
        """Let dropout draw its numbers from this generator; None: from torch's global one."""
        self.dropout.generator = generator

    def code_places(self, field: int, codes: Tensor) -> Tensor:
        """Where codes of this field are among the positions."""
        return self.layout.start_F[field] + codes * self.layout.stride_F[field]

    def take_over(self, old: MaskedMLP, change: SchemaChange) -> None:
        """Begin where a network for fewer codes was."""
        take_over(self, old, change)

    def first_layer(self) -> tuple[Tensor, Tensor]:
        """The first layer as a table: what a visible code adds (P, H), and what is there when all is hidden (H,)."""
        if self.embedding is None:
            return self.table_PH, self.bias_H
        hidden_FH = torch.einsum("fe,feh->fh", self.mask_FE, self.mix_FEH)
        # Cut once for all blocks: the gradient of every cut of its own would be a whole empty table.
        blocks = [(width, n) for _, width, n in self.layout.blocks]
        mixes = self.mix_FEH.index_select(0, self.layout.place_F.argsort()).split([n for _, n in blocks])
        codes = self.codes_PE.split([width * n for width, n in blocks])
        parts = [
            torch.einsum("vne,neh->vnh", code.unflatten(0, shape), mix).flatten(0, 1)
            for code, mix, shape in zip(codes, mixes, blocks, strict=True)
        ]
        return torch.cat(parts) - hidden_FH[self.layout.field_P], self.bias_H + hidden_FH.sum(dim=0)

    def logits(self, views: MaskedViews, first: tuple[Tensor, Tensor]) -> Tensor:
        """Unnormalised log-probabilities of every code, shape (B * K, P)."""
        table_PH, base_H = first
        rate_R = views.mask_rate.expand(views.n_rows, views.n_views).flatten()
        x_RH = self._deeper(base_H + self._visible_sum(views, table_PH), rate_R)
        bias_P = self.head.bias.masked_fill(self.layout.padding_P, -1e4)
        return functional.linear(x_RH, self.head.weight, bias_P)

    def _deeper(self, x_RH: Tensor, rate_R: Tensor) -> Tensor:
        """What the last layer reads, (R, H), from the first layer's sums and the mask rates (one for all, or R)."""
        if self.level is not None:
            x_RH = x_RH + self.level(rate_R.reshape(-1, 1))
        x_RH = self.dropout(x_RH.relu_())
        for layer in self.hidden:
            x_RH = self.dropout(layer(x_RH).relu_())
        return x_RH

    def log_prob(self, views: MaskedViews, first: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """log p(true code | visible cells), shape (B, K, F)."""
        logits_RP = self.logits(views, first or self.first_layer())
        codes_BKF = views.codes_BF.unsqueeze(1).expand(-1, views.n_views, -1)
        log_prob_RF = self.layout.log_prob(logits_RP, codes_BKF.flatten(0, 1))
        return log_prob_RF.view(views.n_rows, views.n_views, log_prob_RF.shape[1])

    def log_odds(self, views: MaskedViews, first: tuple[Tensor, Tensor]) -> Tensor:
        """log p(likeliest code) - log p(true code), shape (B, K, F)."""
        logits_RP = self.logits(views, first)
        codes_BKF = views.codes_BF.unsqueeze(1).expand(-1, views.n_views, -1)
        odds_RF = self.layout.log_odds(logits_RP, codes_BKF.flatten(0, 1))
        return odds_RF.view(views.n_rows, views.n_views, odds_RF.shape[1])

    def shared_views(
        self, views: MaskedViews, first: tuple[Tensor, Tensor], rows_at_once: int, *, odds: bool = False
    ) -> Tensor:
        """The same where all rows share their masks: one product for the first layer of many views, then view by view
        only those codes that the view hides. Log-probabilities, or log odds of the likeliest code.
        """
        table_PH, base_H = first
        hidden_K, parts_K = self._hidden_parts(views.hidden[0])
        bias_P = self.head.bias.masked_fill(self.layout.padding_P, -1e4)
        answer_KBF = torch.zeros(views.n_views, *views.codes_BF.shape, device=table_PH.device)
        for at in range(0, views.n_rows, rows_at_once):
            rows = slice(at, at + rows_at_once)
            codes_BF = views.codes_BF[rows]
            for k, x_BH in enumerate(self._first_of_views(views, rows, table_PH)):
                if not len(hidden_K[k]):
                    continue
                x_BH = self._deeper(x_BH.add_(base_H), views.mask_rate[0, k])
                layout, places = parts_K[k]
                logits_BP = functional.linear(x_BH, self.head.weight.index_select(0, places), bias_P[places])
                answer = layout.log_odds if odds else layout.log_prob
                answer_KBF[k, rows][:, hidden_K[k]] = answer(logits_BP, codes_BF[:, hidden_K[k]])
        return answer_KBF.transpose(0, 1)

    def _hidden_parts(self, hidden_KF: Tensor) -> tuple[list[Tensor], list[tuple[Layout, Tensor]]]:
        """The fields that each view hides, and their layout; kept, for the next rows have the same masks."""
        device, masks_KF = hidden_KF.device, hidden_KF.cpu()
        key = (str(device), masks_KF.shape, masks_KF.numpy().tobytes())
        if key not in self._kept_parts:
            hidden_K = [hidden_F.nonzero()[:, 0] for hidden_F in masks_KF]
            if len(self._kept_parts) >= _MASKS_KEPT:
                self._kept_parts.pop(next(iter(self._kept_parts)))
            parts = [self.layout.part(fields) for fields in hidden_K]
            moved = [(layout.to(device), places.to(device)) for layout, places in parts]
            self._kept_parts[key] = [fields.to(device) for fields in hidden_K], moved
        return self._kept_parts[key]

    def _first_of_views(self, views: MaskedViews, rows: slice, table_PH: Tensor) -> Iterator[Tensor]:
        """View by view the sum of the visible cells' vectors, (B, H)."""
        shown_KF = (~views.hidden[0]).to(table_PH.dtype)
        cells_FBH = functional.embedding(self.layout.positions(views.codes_BF[rows]).T, table_PH)
        if len(views.visible) > 1:  # not all cells are context where masks let them be seen: some values are unseen
            cells_FBH *= views.visible[rows].any(dim=1).T.unsqueeze(2)
        room = cells_FBH.new_empty(_VIEWS_AT_ONCE, cells_FBH[0].numel())
        if (shown_KF.sum(dim=1) == len(cells_FBH) - 1).all():  # each view hides one cell: all but that one
            total_BH, field_K = cells_FBH.sum(dim=0), shown_KF.argmin(dim=1).tolist()
            for field in field_K:
                yield torch.sub(total_BH, cells_FBH[field], out=room[0].view_as(total_BH))
            return
        for some_KF in shown_KF.split(_VIEWS_AT_ONCE):
            torch.mm(some_KF, cells_FBH.flatten(1), out=room[: len(some_KF)])
            yield from room[: len(some_KF)].view(-1, *cells_FBH.shape[1:])

    def _visible_sum(self, views: MaskedViews, table_PH: Tensor) -> Tensor:
        """The sum of the visible cells' vectors, shape (B * K, H)."""
        shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])
        if len(views.hidden) == 1:  # all rows share their masks
            cells_BFH = functional.embedding(self.layout.positions(views.codes_BF), table_PH)
            if len(views.visible) == views.n_rows:  # some values may be unseen, and then no context
                cells_BFH = cells_BFH * views.visible.any(dim=1).unsqueeze(2)
            return ((~views.hidden[0]).to(table_PH.dtype) @ cells_BFH).flatten(0, 1)
        place_RF = self.layout.positions(views.codes_BF).unsqueeze(1).expand(shape).flatten(0, 1)
        shown_RF = views.visible.expand(shape).flatten(0, 1).to(table_PH.dtype)
        if self.layout.size > self.product_gain * shape[2]:
            return functional.embedding_bag(place_RF, table_PH, mode="sum", per_sample_weights=shown_RF)
        shown_RP = table_PH.new_zeros(len(place_RF), self.layout.size)
        return shown_RP.scatter_(1, place_RF, shown_RF) @ table_PH


@dataclass(eq=False)
class MLPReconstructor(TrainedReconstructor):
    """A network trained on normal rows to name hidden cells from visible ones.

    The default reads masked one-hot cells and does not use the level; `MLPReconstructor.paper()` has the paper's
    embeddings, level input, size and training.
    """

    width: int = 256
    layers: int = 3
    embedding: int | None = None
    dropout: float = 0.1
    uses_level: bool = False
    training: Training = field(default_factory=Training)

    # What is computed at once stays in a processor's cache, and keeps an accelerator busy.
    floats_at_once: ClassVar[int] = 1 << 22
    floats_on_a_device: ClassVar[int] = 1 << 27
    # From so many rows on it pays to go through the masks they share one by one.
    fewest_sharing: ClassVar[int] = 64

    def __post_init__(self) -> None:
        if min(self.width, self.layers, 1 if self.embedding is None else self.embedding) < 1:
            raise SettingError(f"width, layers and embedding must be at least 1; got {self}.")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"dropout must be at least 0 and below 1; got {self.dropout}.")

    @classmethod
    def paper(cls) -> MLPReconstructor:
        """Embedding 256, hidden 512, three layers, dropout 0.1, uses the level; AdamW 1e-3 / 1e-5, 20 epochs.

        The paper does not say how large its batches are; those of the authors' code hold 512 rows.
        """
        training = Training(Epochs(20), batch_size=512, learning_rate=1e-3, weight_decay=1e-5, average=0.0)
        return cls(512, 3, 256, 0.1, True, training)

    def build(self, schema: Schema) -> MaskedMLP:
        """The untrained network for this schema."""
        return MaskedMLP(
            schema,
            width=self.width,
            layers=self.layers,
            embedding=self.embedding,
            dropout=self.dropout,
            uses_level=self.uses_level,
        )

    def _answering(self, network: nn.Module) -> Self:
        """A copy that answers with this network."""
        assert isinstance(network, MaskedMLP)
        fitted = super()._answering(network)
        with torch.no_grad():
            fitted.first_ = network.first_layer()
        return fitted

    def describe(self) -> str:
        """What it is, in words."""
        return f"a neural network: {self!r}"

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible cells), shape (B, K, F)."""
        return self._answers(views, odds=False)

    def log_odds(self, views: MaskedViews) -> Tensor:
        """How much likelier than the true code the likeliest one is, in nats, shape (B, K, F)."""
        return self._answers(views, odds=True)

    def _answers(self, views: MaskedViews, *, odds: bool) -> Tensor:
        at_once = self.floats_at_once if views.codes_BF.device.type == "cpu" else self.floats_on_a_device
        with torch.inference_mode():
            if len(views.hidden) == len(views.mask_rate) == 1 and views.n_rows >= self.fewest_sharing:
                rows_at_once = max(1, at_once // (_VIEWS_AT_ONCE * self.width))
                return self.network_.shared_views(views, self.first_, rows_at_once, odds=odds)
            answer = self.network_.log_odds if odds else self.network_.log_prob
            if self._rows_at_once(views) >= views.n_rows:
                return answer(views, self.first_)
            # One piece from the start: parts kept between large numbers that come and go tear the memory into shreds.
            answer_BKF = torch.empty(_shape(views), device=views.codes_BF.device)
            for rows, part in self._parts(views):
                answer_BKF[rows] = answer(part, self.first_)
            return answer_BKF

    def most_likely(self, views: MaskedViews) -> tuple[Tensor, Tensor]:
        """The code it would have guessed for each cell, and its log-probability, each (B, K, F)."""
        layout = self.network_.layout
        codes_BKF = torch.empty(_shape(views), dtype=torch.int64, device=views.codes_BF.device)
        log_prob_BKF = torch.empty(_shape(views), device=views.codes_BF.device)
        with torch.inference_mode():
            for rows, part in self._parts(views):
                logits_RP = self.network_.logits(part, self.first_)
                largest_RF, codes_RF = layout.largest(logits_RP)
                codes_BKF[rows] = codes_RF.view(_shape(part))
                log_prob_BKF[rows] = (largest_RF - layout.log_sum_exp(logits_RP)).view(_shape(part))
        return codes_BKF, log_prob_BKF

    def _parts(self, views: MaskedViews) -> Iterator[tuple[slice, MaskedViews]]:
        """Runs of rows small enough to stay in the processor's cache."""
        step = self._rows_at_once(views)
        return ((slice(at, at + step), views.rows(at, at + step)) for at in range(0, views.n_rows, step))

    def _rows_at_once(self, views: MaskedViews) -> int:
        per_row = views.n_views * (2 * self.network_.layout.size + 2 * self.width)
        return max(1, self.floats_at_once // per_row)

    network_: MaskedMLP = field(init=False, repr=False)
    first_: tuple[Tensor, Tensor] = field(init=False, repr=False)


def _shape(views: MaskedViews) -> tuple[int, int, int]:
    return views.n_rows, views.n_views, views.codes_BF.shape[1]


def _uniform_like_linear(n_fields: int, embedding: int, width: int) -> Tensor:
    """Weights as a linear layer on the concatenated embeddings would start with, (F, E, H)."""
    bound = (1 / (n_fields * embedding)) ** 0.5
    return torch.empty(n_fields, embedding, width).uniform_(-bound, bound)
