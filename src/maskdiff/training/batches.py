"""What a training step reads: rows in random order, each through a fresh mask.

Shapes: B rows, F fields (positions of token rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor

from maskdiff.codes import Codes
from maskdiff.codes.windows import Windows, narrowed
from maskdiff.masking import MaskedViews, RowBatch, Schedule, as_rows
from maskdiff.objectives import Objective


class ShuffledBatches:
    """Rows in random order, pass after pass; every batch is full. Token rows of about the same length go together.

    With `tokens` a batch holds `size` rows, or fewer where these have more than so many tokens with padding; and of a
    row cut into several windows, each pass shows one, drawn at random: long rows take no more steps than short ones.
    The rows stay codes of one or two bytes until they are drawn: as tensors, millions of them would not fit.
    """

    def __init__(
        self, codes: Codes, size: int, device: torch.device, generator: Generator, *, tokens: int | None = None
    ) -> None:
        self.codes = codes
        # Where the windows of each row begin, and how many there are.
        self.windows: tuple[Tensor, Tensor] | None = None
        if isinstance(codes, Windows) and tokens is not None:
            first, n_windows = np.unique(codes.row, return_index=True, return_counts=True)[1:]
            self.windows = torch.from_numpy(first), torch.from_numpy(n_windows)
        self.wanted, self.size = size, min(size, self.n_rows)
        self.tokens = tokens
        self.device = device
        self.generator = generator
        self.order = torch.empty(0, dtype=torch.int64)
        self.lengths = None if codes.real is None else torch.from_numpy(codes.lengths)

    @property
    def mean_size(self) -> int:
        """Rows in a batch, on average over a pass."""
        if self.lengths is None or self.tokens is None:
            return self.wanted
        drawn = self.lengths if self.windows is None else self.lengths[self.windows[0]]  # those of a row are alike
        lengths, counts = (found.tolist() for found in drawn.unique(return_counts=True))
        parts = (n / self._rows_of(length, self.wanted) for length, n in zip(lengths, counts, strict=True))
        return max(1, round(self.n_rows / float(sum(parts))))

    @property
    def n_rows(self) -> int:
        """How many rows a pass shows."""
        return len(self.codes) if self.windows is None else len(self.windows[0])

    def next(self) -> RowBatch:
        if len(self.order) < self.size:
            order = torch.cat([self.order, self._pass()])
            self.order = order if self.lengths is None else self._by_length(order)
        # The first row of a batch is its longest.
        size = self.size if self.lengths is None else self._rows_of(int(self.lengths[self.order[0]]), self.size)
        chosen, self.order = self.order[:size], self.order[size:]
        return as_rows(narrowed(self.codes.take(chosen.numpy())), device=self.device)

    def _pass(self) -> Tensor:
        """All rows in random order, of each one a window."""
        rows = torch.randperm(self.n_rows, generator=self.generator)
        if self.windows is None or self.n_rows == len(self.codes):
            return rows
        first, n_windows = (of_rows[rows] for of_rows in self.windows)
        return first + (torch.rand(len(rows), generator=self.generator) * n_windows).long()

    def _rows_of(self, longest: int, most: int) -> int:
        """How many rows a batch holds whose longest has this many tokens."""
        if self.tokens is None:
            return most
        return min(most, max(1, self.tokens // round_width(max(1, longest), self.codes.values.shape[1])))

    def _by_length(self, order: Tensor) -> Tensor:
        """The same rows with neighbours in length in one batch, the batches in random order but for the last."""
        assert self.lengths is not None
        ranked = order[self.lengths[order].argsort(descending=True, stable=True)]
        *full, last = (ranked[run] for run in self._runs(self.lengths[ranked].tolist()))
        shuffled = [full[place] for place in torch.randperm(len(full), generator=self.generator).tolist()]
        return torch.cat([*shuffled, last])

    def _runs(self, lengths: list[int]) -> Iterator[slice]:
        """The batches of rows that are ordered by their lengths, the longest first."""
        at = 0
        while at < len(lengths):
            size = self._rows_of(lengths[at], self.size)
            yield slice(at, at + size)
            at += size


def round_width(width: int, widest: int) -> int:
    """Up to a multiple of 8; for wide rows, of a quarter of the power of two below: 20 widths up to 512."""
    step = max(8, (1 << (width.bit_length() - 1)) // 4)
    return min(-(-width // step) * step, widest)


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
