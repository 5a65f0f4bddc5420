"""One flat axis for the codes of all fields, so that no loop over columns or categories is needed.

Fields of about the same size stand together in a block of shape (width, fields): all their first codes, then all
their second codes, and so on. A reduction over a field's codes is then one strided reduction per block, and there
are only as many blocks as there are size classes. R rows, F fields, P positions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_VANISHING = 1e-30
_NONE = np.empty(0, np.int64)


@cache
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
        members_of: dict[int, list[int]] = {}
        for member, size in enumerate(sizes.tolist()):
            members_of.setdefault(_width(size), []).append(member)
        order = np.array([member for width in sorted(members_of) for member in members_of[width]], dtype=np.int64)
        start, stride, place = (np.empty(len(sizes), np.int64) for _ in range(3))
        place[order] = np.arange(len(sizes))
        self.blocks: list[tuple[int, int, int]] = []
        field_of, code_of, begin = [_NONE], [_NONE], 0
        for width in sorted(members_of):
            members, n = members_of[width], len(members_of[width])
            start[members], stride[members] = range(begin, begin + n), n
            self.blocks.append((begin, width, n))
            field_of.append(np.array(members * width, dtype=np.int64))
            code_of.append(np.arange(width).repeat(n))
            begin += width * n
        self.size = begin
        field_P, code_P = np.concatenate(field_of), np.concatenate(code_of)
        # Kept beside the tensors: to read those of a device, the device has to be waited for.
        self._start, self._stride = start, stride
        buffers = {"start_F": start, "stride_F": stride, "place_F": place, "field_P": field_P, "code_P": code_P}
        for name, values in (buffers | {"padding_P": code_P >= sizes[field_P]}).items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)

    def positions(self, codes_RF: Tensor) -> Tensor:
        """The position of each cell's code, shape (R, F)."""
        return self.start_F + codes_RF * self.stride_F

    def part(self, fields: Tensor) -> tuple[Layout, Tensor]:
        """The layout of these fields alone, and where each of its positions is in this one."""
        chosen = fields.cpu().numpy()
        alone = Layout(self.sizes[chosen])
        field_P, code_P = chosen[alone.field_P.numpy()], alone.code_P.numpy()
        places = torch.from_numpy(self._start[field_P] + code_P * self._stride[field_P])
        return alone.to(fields.device), places.to(fields.device)

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
        # Not `unflatten`, which takes longer than the sum over a small block.
        return values_RP[:, begin : begin + width * n].view(-1, width, n)


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
