"""Attention over the tokens of a text with several heads, each a weighted mean of token vectors (Lin et al., 2017).

What CVDD and FATE share. B texts, W tokens, H width of a token's vector, R heads.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class AttentionHeads(nn.Module):
    """R weightings of the tokens, learned by a layer of `width` units."""

    def __init__(self, hidden: int, n_heads: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(hidden, width, bias=False)
        self.second = nn.Linear(width, n_heads, bias=False)

    def forward(self, vectors_BWH: Tensor, seen_BW: Tensor) -> tuple[Tensor, Tensor]:
        """The mean vector of each head, shape (B, R, H), and its weights, shape (B, R, W); none for unseen tokens."""
        weight_BRW = self.second(self.first(vectors_BWH).tanh()).transpose(1, 2)
        weight_BRW = weight_BRW.masked_fill(~seen_BW[:, None], -1e9).softmax(dim=2)
        return weight_BRW @ vectors_BWH, weight_BRW


def overlap(rows_R: Tensor) -> Tensor:
    """The mean squared distance of the rows' products (..., R, H) from the identity: 0 where they are orthonormal."""
    products = rows_R @ rows_R.transpose(-1, -2)
    return ((products - torch.eye(products.shape[-1], device=products.device)) ** 2).mean(dim=(-1, -2))
