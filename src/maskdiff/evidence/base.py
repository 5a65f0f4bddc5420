"""What every source of evidence answers."""

from __future__ import annotations

from typing import Any, Protocol, Self

import torch
from torch import Tensor

from maskdiff.codes import Codes, Schema
from maskdiff.progress import Callback
from maskdiff.score import CellScores
from maskdiff.state.tensors import Tensors

# What `to_state` returns: plain values that JSON can hold, and tensors.
State = tuple[dict[str, Any], dict[str, Tensor]]


class Source(Protocol):
    """Whatever can say how odd each cell of a row is. N lines (rows, or windows of them), F fields."""

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F); progress is reported as that of `stage`."""

    def left_out(self) -> Source:
        """The same for rows that are among the normal rows, each as if it were not."""

    def describe(self) -> str:
        """What it is, in words."""

    def to_state(self) -> State:
        """Everything it was set to and has learned."""

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The source that `to_state` described; whatever does not fit the schema is refused with a ModelFileError."""
