"""The protocol every reconstructor answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from maskdiff.masking import MaskedViews


@runtime_checkable
class Reconstructor(Protocol):
    """Anything that can say how likely the hidden values were.

    B rows, K views, F fields. Only hidden cells are read; what stands elsewhere does not matter. A `fit(codes, ...)`
    method is called where there is one; `uses_level = True` asks for masks that are kept apart by level.
    """

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible cells), shape (B, K, F)."""

    def most_likely(self, views: MaskedViews) -> tuple[Tensor, Tensor]:
        """The code it would have guessed for each cell, and its log-probability, each of shape (B, K, F)."""
