"""Where a training run stands, as tensors, and who may store that so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Generator, Tensor, nn

from maskdiff.codes import Codes
from maskdiff.training.batches import ShuffledBatches
from maskdiff.training.orthogonal import Optimiser


class CheckpointStore(Protocol):
    """Stores the state of a run between looks, so that an interrupted one can be resumed."""

    def load(self, run: str) -> dict[str, Tensor] | None:
        """The stored state of this very run; None to start at the beginning."""

    def save(self, run: str, state: Callable[[], dict[str, Tensor]]) -> None:
        """Called at every look; the store decides whether to take the state now."""


@dataclass(frozen=True, eq=False)
class RunState:
    """All that changes from step to step, as tensors and back."""

    network: nn.Module
    average: nn.Module | None
    optimiser: Optimiser
    batches: ShuffledBatches
    device: torch.device
    dropout: Generator | None = None
    held_out_losses: list[float] = field(default_factory=list)

    def to_tensors(self, step: int) -> dict[str, Tensor]:
        """The state after this step."""
        moments = self.optimiser.state_dict()["state"]
        state = {f"optimiser.{i}.{name}": part for i, parts in moments.items() for name, part in parts.items()}
        for name, module in self._modules().items():
            state |= {f"{name}.{key}": part for key, part in module.state_dict().items()}
        if self.device.type == "cuda":
            state["dropout_cuda"] = torch.cuda.get_rng_state(self.device)
        dropout = torch.get_rng_state() if self.dropout is None else self.dropout.get_state()
        state |= {"dropout": dropout, "generator": self.batches.generator.get_state()}
        losses = torch.tensor(self.held_out_losses, dtype=torch.float64)
        return state | {"order": self.batches.order, "losses": losses, "step": torch.tensor(step)}

    def restore(self, state: dict[str, Tensor]) -> int:
        """Go back to where this state was taken; the number of steps done then."""
        for name, module in self._modules().items():
            module.load_state_dict(_entries(name, state))
        moments = self.optimiser.state_dict()
        for key, part in _entries("optimiser", state).items():
            number, _, name = key.partition(".")
            moments["state"].setdefault(int(number), {})[name] = part
        self.optimiser.load_state_dict(moments)
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(state["dropout_cuda"], self.device)
        (torch.set_rng_state if self.dropout is None else self.dropout.set_state)(state["dropout"])
        self.batches.generator.set_state(state["generator"])
        self.batches.order = state["order"]
        self.held_out_losses[:] = state["losses"].tolist()
        return int(state["step"])

    def _modules(self) -> dict[str, nn.Module]:
        return {"network": self.network} | ({} if self.average is None else {"average": self.average})


def run_name(network: nn.Module, codes: Codes, device: torch.device, *settings: object) -> str:
    """Distinguishes a run from runs that begin at other weights, on other rows or with other settings."""
    digest = hashlib.blake2b(f"{settings} {codes.schema.sizes.tolist()} {device.type}".encode())
    digest.update(np.ascontiguousarray(codes.values).data)
    for weight in network.state_dict().values():
        digest.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _entries(name: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The entries whose names begin with this one, under the rest of their names."""
    return {key.removeprefix(f"{name}."): part for key, part in state.items() if key.startswith(f"{name}.")}
