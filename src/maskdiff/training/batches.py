"""What a step of training reads: rows in random order, masked, and packed where steps are replayed.

Shapes: B rows, F fields (positions of token rows), M cells that are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn import functional

from maskdiff.codes import Codes
from maskdiff.codes.windows import narrowed
from maskdiff.masking import MaskedViews, RowBatch, Schedule, as_rows
from maskdiff.objectives import Objective


class Batches:
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
            drawn = torch.cat([self.order, torch.randperm(len(self.codes), generator=self.generator)])
            self.order = drawn if self.codes.real is None else self._by_length(drawn, torch.from_numpy(self.codes.real))
        chosen, self.order = self.order[: self.size], self.order[self.size :]
        return as_rows(narrowed(self.codes.take(chosen.numpy())), device=self.device)

    def _by_length(self, drawn: Tensor, real: Tensor) -> Tensor:
        """The same rows with neighbours in length in one batch, the batches in random order."""
        whole = len(drawn) // self.size * self.size
        length = real.sum(dim=1)[drawn[:whole]]
        batches = drawn[:whole][length.argsort(stable=True)].view(-1, self.size)
        mixed = batches[torch.randperm(len(batches), generator=self.generator)]
        return torch.cat([mixed.flatten(), drawn[whole:]])


@dataclass(frozen=True, eq=False)
class Masked:
    """Rows through one mask each, and the time it was drawn for."""

    views: MaskedViews
    time_B: Tensor


def masked(rows: RowBatch, objective: Objective, schedule: Schedule, generator: Generator) -> Masked:
    """One fresh masked view of each row."""
    time_B = objective.draw_times(len(rows.codes_BF), generator=generator)
    rate_B = schedule.mask_rate(time_B)
    uniform_BF = torch.rand(rows.codes_BF.shape, generator=generator)
    device = rows.codes_BF.device
    hidden_BF = (uniform_BF < rate_B[:, None]).to(device)
    return Masked(rows.views(hidden_BF[:, None], rate_B[:, None].to(device)), time_B.to(device))


# For devices that replay steps ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """All that tells one recorded step from another; nothing is asked for by its place where `n_asked` is 0."""

    n_rows: int
    width: int
    n_asked: int

    @property
    def parts(self) -> list[tuple[torch.dtype, tuple[int, ...]]]:
        """The tensors in the order they are packed: the widest numbers first, so that each lies at a multiple of its
        own size.
        """
        cells, rows = (self.n_rows, self.width), (self.n_rows,)
        numbers = [(torch.int64, cells), (torch.int64, (self.n_asked,)), (torch.float32, rows), (torch.float32, rows)]
        return [*numbers, *[(torch.bool, cells)] * 3]


def packed(given: Masked, *, widest: int | None) -> tuple[Tensor, Shape]:
    """Masked rows as one run of bytes, which one copy takes to a device, and what `unpacked` has to know.

    Token rows (at most `widest` tokens; None for tables) are padded, so that they come in few shapes: their width, and
    the number of places at which answers are asked for, hidden ones first, others behind them to fill up.
    """
    views = given.views
    codes_BF, hidden_BF, visible_BF = views.codes_BF, views.hidden[:, 0], views.visible[:, 0]
    real_BF = torch.ones_like(hidden_BF) if views.real_BF is None else views.real_BF
    places_M = torch.empty(0, dtype=torch.int64)
    if widest is not None:
        beyond = (0, _rounded(codes_BF.shape[1], widest) - codes_BF.shape[1])
        cells = (codes_BF, hidden_BF, visible_BF, real_BF)
        codes_BF, hidden_BF, visible_BF, real_BF = (functional.pad(told, beyond) for told in cells)
        real_BF[:, 0] = True  # attention over nothing would be no number; an empty row is not asked for anything
        places_M = hidden_BF.flatten().logical_not().to(torch.uint8).argsort(stable=True)
        places_M = places_M[: _most(int(hidden_BF.sum()), hidden_BF.numel())]
    told = (codes_BF, places_M, views.mask_rate, given.time_B, hidden_BF, visible_BF, real_BF)
    shape = Shape(codes_BF.shape[0], codes_BF.shape[1], len(places_M))
    as_listed = (part.to(dtype).flatten().view(torch.uint8) for part, (dtype, _) in zip(told, shape.parts, strict=True))
    return torch.cat(list(as_listed)), shape


def unpacked(told: Tensor, shape: Shape) -> Masked:
    """What was packed, in the same memory."""
    counts = [dtype.itemsize * torch.Size(size).numel() for dtype, size in shape.parts]
    codes_BF, places_M, rate_B, time_B, hidden_BF, visible_BF, real_BF = (
        part.view(dtype).view(size) for part, (dtype, size) in zip(told.split(counts), shape.parts, strict=True)
    )
    places = places_M if shape.n_asked else None
    masks = (hidden_BF[:, None], visible_BF[:, None], rate_B[:, None])
    return Masked(MaskedViews(codes_BF, *masks, None, real_BF, places), time_B)


def sent(told: Tensor, device: torch.device) -> Tensor:
    """The same on the device, which is not waited for."""
    return told.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else told.to(device)


def _rounded(width: int, widest: int) -> int:
    """Up to a multiple of 8, wide rows of a quarter of the power of two below: 20 widths up to 512."""
    step = max(8, (1 << (width.bit_length() - 1)) // 4)
    return min(-(-width // step) * step, widest)


def _most(n_hidden: int, n_cells: int) -> int:
    """Room for the hidden cells: half are hidden on average, and hardly ever more than five eighths."""
    usual = -(-n_cells * 5 // 8)
    return usual if n_hidden <= usual else n_cells
