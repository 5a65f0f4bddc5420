"""One flat axis for the codes of all fields, so that no loop over columns or categories is needed.

Fields of about the same size stand together in a block of shape (width, fields): all their first codes, then all
their second codes, and so on. A reduction over a field's codes is then one strided reduction per block, and there
are only as many blocks as there are size classes. R rows, F fields, P positions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_VANISHING = 1e-30


def _width(size: int) -> int:
    """The size class: sizes up to 8 as they are, above that two leading binary digits after the first."""
    step = 1 << max(0, int(size - 1).bit_length() - 3)
    return -(-size // step) * step


class Layout(nn.Module):
    """Where code v of field j stands: start_F[j] + v * stride_F[j]."""

    start_F: Tensor
    stride_F: Tensor
    place_F: Tensor
    padding_P: Tensor
    field_P: Tensor
    code_P: Tensor

    def __init__(self, sizes: NDArray[np.int64]) -> None:
        super().__init__()
        self.sizes = sizes
        widths = np.array([_width(int(size)) for size in sizes])
        order = np.argsort(widths, kind="stable")
        start, stride = np.empty(len(sizes), np.int64), np.empty(len(sizes), np.int64)
        self.blocks: list[tuple[int, int, int]] = []
        begin = 0
        for width in np.unique(widths):
            members = order[widths[order] == width]
            start[members], stride[members] = begin + np.arange(len(members)), len(members)
            self.blocks.append((begin, int(width), len(members)))
            begin += int(width) * len(members)
        self.size = begin
        field_of, code_of = np.empty(begin, np.int64), np.empty(begin, np.int64)
        for (at, width, n), members in zip(self.blocks, self._members(order), strict=True):
            field_of[at : at + width * n] = np.tile(members, width)
            code_of[at : at + width * n] = np.repeat(np.arange(width), n)
        self.register_buffer("start_F", torch.from_numpy(start), persistent=False)
        self.register_buffer("stride_F", torch.from_numpy(stride), persistent=False)
        self.register_buffer("place_F", torch.from_numpy(np.argsort(order)), persistent=False)
        self.register_buffer("padding_P", torch.from_numpy(code_of >= sizes[field_of]), persistent=False)
        self.register_buffer("field_P", torch.from_numpy(field_of), persistent=False)
        self.register_buffer("code_P", torch.from_numpy(code_of), persistent=False)

    def _members(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        return np.split(order, np.cumsum([n for _, _, n in self.blocks])[:-1]) if self.blocks else []

    def positions(self, codes_RF: Tensor) -> Tensor:
        """The position of each cell's code, shape (R, F)."""
        return self.start_F + codes_RF * self.stride_F

    def part(self, fields: Tensor) -> tuple[Layout, Tensor]:
        """The layout of these fields alone, and where each of its positions is in this one."""
        alone = Layout(self.sizes[fields.cpu().numpy()]).to(fields.device)
        field_P = fields[alone.field_P]
        return alone, self.start_F[field_P] + alone.code_P * self.stride_F[field_P]

    def one_hot(self, codes_RF: Tensor) -> Tensor:
        """Ones at the positions of a row's codes, shape (R, P)."""
        empty = torch.zeros(len(codes_RF), self.size, device=codes_RF.device)
        return empty.scatter_(1, self.positions(codes_RF), 1.0)

    def log_prob(self, logits_RP: Tensor, codes_RF: Tensor) -> Tensor:
        """The log-probability that these logits give to each field's code, shape (R, F)."""
        place_RF = self.positions(codes_RF)
        if not logits_RP.requires_grad or logits_RP.device.type != "cpu":
            return logits_RP.gather(1, place_RF) - self.log_sum_exp(logits_RP)
        answer_RF: Tensor = _LogProb.apply(logits_RP, place_RF, self)  # type: ignore[no-untyped-call]
        return answer_RF

    def log_odds(self, logits_RP: Tensor, codes_RF: Tensor) -> Tensor:
        """By how much the logit of each field's likeliest code is above that of its code, shape (R, F)."""
        parts = [self._block(logits_RP, block).amax(dim=1) for block in self.blocks]
        return self._in_order(parts) - logits_RP.gather(1, self.positions(codes_RF))

    def log_sum_exp(self, logits_RP: Tensor) -> Tensor:
        """log of the sum of exp over each field's codes, shape (R, F)."""
        if not logits_RP.requires_grad and logits_RP.numel():
            # One pass for all fields; only where a field is so far below the others that it vanishes, field by field.
            largest_R1 = logits_RP.amax(dim=1, keepdim=True)
            total_RF = self.total((logits_RP - largest_R1).exp_())
            if total_RF.min() > _VANISHING:
                return total_RF.log_().add_(largest_R1)
        return self._in_order([self._block(logits_RP, block).logsumexp(dim=1) for block in self.blocks])

    def total(self, values_RP: Tensor) -> Tensor:
        """The sum over each field's codes, shape (R, F)."""
        return self._in_order([self._block(values_RP, block).sum(dim=1) for block in self.blocks])

    def largest(self, values_RP: Tensor) -> tuple[Tensor, Tensor]:
        """Each field's largest value and its code, each of shape (R, F). Padding must be -inf or lower than all."""
        parts = [self._block(values_RP, block).max(dim=1) for block in self.blocks]
        return self._in_order([part.values for part in parts]), self._in_order([part.indices for part in parts])

    def _in_order(self, parts: list[Tensor]) -> Tensor:
        """What was found in each block, in the order of the fields, shape (R, F)."""
        if len(self.sizes) == 1:
            return parts[0]
        return torch.cat(parts, dim=1).index_select(1, self.place_F)

    @staticmethod
    def _block(values_RP: Tensor, block: tuple[int, int, int]) -> Tensor:
        begin, width, n = block
        block_RWN: Tensor = values_RP[:, begin : begin + width * n].unflatten(1, (width, n))
        return block_RWN


class _LogProb(torch.autograd.Function):
    """What `Layout.log_prob` gives while training on a CPU. Its own gradient is faster than those of its parts."""

    @staticmethod
    def forward(ctx: Any, logits_RP: Tensor, place_RF: Tensor, layout: Layout) -> Tensor:
        total_RF = layout.log_sum_exp(logits_RP.detach())
        ctx.save_for_backward(logits_RP, place_RF, total_RF, layout.field_P)
        return logits_RP.gather(1, place_RF) - total_RF

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient_RF: Tensor) -> tuple[Tensor, None, None]:
        logits_RP, place_RF, total_RF, field_P = ctx.saved_tensors
        share_RP = (logits_RP - total_RF.index_select(1, field_P)).exp_()
        share_RP.mul_(gradient_RF.neg().index_select(1, field_P))
        return share_RP.scatter_add_(1, place_RF, gradient_RF), None, None
