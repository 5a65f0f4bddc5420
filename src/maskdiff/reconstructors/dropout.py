"""Dropout that is cheap on a processor."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn


class ByteDropout(nn.Module):
    """Dropout that spends one random byte on a unit; torch's own costs a third of a small network's training step.

    The probability is rounded to a multiple of 1/256.
    """

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.below = round(256 * probability)
        # What it draws from while it is trained; None: torch's global generator.
        self.generator: Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.below:
            return x
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64, device=x.device)
        words.random_(-(2**63), None, generator=self.generator)
        drawn = words.view(torch.uint8)[: x.numel()].view(x.shape)
        # Written as numbers at once: to make numbers of truth values takes several times as long as all else here.
        kept = torch.ge(drawn, self.below, out=torch.empty(x.shape, device=x.device))
        return x * kept.mul_(256 / (256 - self.below))
