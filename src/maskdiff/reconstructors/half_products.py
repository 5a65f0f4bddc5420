"""Products in bfloat16 while a network is trained on a processor that has instructions for them.

Numbers that are summed stay in single precision, as on a GPU. What is learned is answered in single precision.
R rows, P rows with padding, I inputs, O outputs.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from maskdiff.training.processor import has_half_products

_ROWS = 32
# Below so many multiplications rounding takes longer than is gained: a layer of 128 to 128 gains from 512 rows on, one
# of 64 to 64 from 2,048.
_FEWEST_MULTIPLICATIONS = 1 << 23


class Linear(nn.Linear):
    """A linear layer that is trained with products in bfloat16 where that is faster."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight_OI: Tensor, bias_O: Tensor) -> Tensor:
    """x @ weight.T + bias, shape (..., O)."""
    if torch.is_grad_enabled() and weight_OI.requires_grad and _gains(x, weight_OI):
        return cast(Tensor, _HalfProduct.apply(x, weight_OI, bias_O))  # type: ignore[no-untyped-call]
    return functional.linear(x, weight_OI, bias_O)


def _gains(x: Tensor, weight_OI: Tensor) -> bool:
    """Whether this product is faster in bfloat16."""
    n_multiplications = x.numel() * len(weight_OI)
    return x.device.type == "cpu" and n_multiplications >= _FEWEST_MULTIPLICATIONS and has_half_products()


class _HalfProduct(torch.autograd.Function):
    """The three products of a linear layer's forward and backward pass, each of numbers rounded to bfloat16."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight_OI: Tensor, bias_O: Tensor) -> Tensor:
        x_RI, half_OI = x.reshape(-1, x.shape[-1]), weight_OI.bfloat16()
        half_PI = _half(x_RI)
        ctx.save_for_backward(half_PI, half_OI)
        return (half_PI @ half_OI.T)[: len(x_RI)].float().add_(bias_O).view(*x.shape[:-1], len(bias_O))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (gradient,), (half_PI, half_OI) = gradients, ctx.saved_tensors
        g_RO = gradient.reshape(-1, gradient.shape[-1])
        half_PO = _half(g_RO)
        x_grad = (half_PO @ half_OI)[: len(g_RO)].float().view(*gradient.shape[:-1], half_PI.shape[1])
        return x_grad, (half_PO.T @ half_PI).float(), g_RO.sum(dim=0)


def _half(x_RI: Tensor) -> Tensor:
    """The same numbers in bfloat16, and zeros below them up to a multiple of 32 rows, (P, I).

    Code is made for every new shape of a product, which takes as long as the product itself.
    """
    n_rows = len(x_RI)
    half_PI = torch.empty(-(-n_rows // _ROWS) * _ROWS, x_RI.shape[1], dtype=torch.bfloat16)
    half_PI[:n_rows] = x_RI
    half_PI[n_rows:] = 0
    return half_PI
