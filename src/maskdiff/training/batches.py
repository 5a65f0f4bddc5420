"""What a training step reads: rows in random order, each through a fresh mask.

Shapes: B rows, F fields (positions of token rows).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from maskdiff.codes import Codes
from maskdiff.codes.windows import narrowed
from maskdiff.masking import MaskedViews, RowBatch, Schedule, as_rows
from maskdiff.objectives import Objective


class ShuffledBatches:
    """Rows in random order, pass after pass; every batch is full. Token rows of about the same length go together.

    The rows stay codes of one or two bytes until they are drawn: as tensors, millions of them would not fit.
    """

    def __init__(self, codes: Codes, size: int, device: torch.device, generator: Generator) -> None:
        self.codes = codes
        self.size = min(size, len(codes))
        self.device = device
        self.generator = generator
        self.order = torch.empty(0, dtype=torch.int64)

    def next(self) -> RowBatch:
        if len(self.order) < self.size:
            order = torch.cat([self.order, torch.randperm(len(self.codes), generator=self.generator)])
            self.order = order if self.codes.real is None else self._by_length(order, torch.from_numpy(self.codes.real))
        chosen, self.order = self.order[: self.size], self.order[self.size :]
        return as_rows(narrowed(self.codes.take(chosen.numpy())), device=self.device)

    def _by_length(self, order: Tensor, real: Tensor) -> Tensor:
        """The same rows with neighbours in length in one batch, the batches in random order."""
        whole = len(order) // self.size * self.size
        length = real.sum(dim=1)[order[:whole]]
        batches = order[:whole][length.argsort(stable=True)].view(-1, self.size)
        shuffled = batches[torch.randperm(len(batches), generator=self.generator)]
        return torch.cat([shuffled.flatten(), order[whole:]])


@dataclass(frozen=True, eq=False)
class MaskedBatch:
    """Rows through one mask each, and the times the masks were drawn for."""

    views: MaskedViews
    time_B: Tensor


def mask_rows(rows: RowBatch, objective: Objective, schedule: Schedule, generator: Generator) -> MaskedBatch:
    """One fresh masked view of each row."""
    time_B = objective.draw_times(len(rows.codes_BF), generator=generator)
    rate_B = schedule.mask_rate(time_B)
    uniform_BF = torch.rand(rows.codes_BF.shape, generator=generator)
    device = rows.codes_BF.device
    hidden_BF = (uniform_BF < rate_B[:, None]).to(device)
    return MaskedBatch(rows.views(hidden_BF[:, None], rate_B[:, None].to(device)), time_B.to(device))
