"""The one training loop: stop rule, averaged weights, held-out loss, progress, and where an interrupted run
goes on.

Shapes: B rows, F fields.
"""

from __future__ import annotations

import copy
import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import torch
from torch import Generator, Tensor, nn

from maskdiff.codes import Codes
from maskdiff.codes.windows import narrowed
from maskdiff.masking import Schedule, as_rows
from maskdiff.objectives import Objective
from maskdiff.progress import Callback, Progress
from maskdiff.training.batches import Batches, masked
from maskdiff.training.cuda_graphs import own_stream
from maskdiff.training.settings import Training
from maskdiff.training.steps import Step, adamw, objective_on, recorder, replayed, set_rate

_SMALL_NETWORK = 1_000_000

Made = TypeVar("Made")


class Keeper(Protocol):
    """Keeps the state of a run from look to look, so that an interrupted one can go on where it was."""

    def load(self, run: str) -> dict[str, Tensor] | None:
        """What was kept of this very run, None to start at the beginning."""

    def keep(self, run: str, state: Callable[[], dict[str, Tensor]]) -> None:
        """The run stands here; whether to keep that is the keeper's choice."""


def seeded(seed: int, make: Callable[[], Made]) -> Made:
    """What `make` makes from the global generator, started at this seed and put back as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the CPU's, where weights start; devices keep theirs
        return make()


def train(
    network: nn.Module,
    codes: Codes,
    *,
    objective: Objective,
    schedule: Schedule,
    settings: Training,
    seed: int,
    device: torch.device,
    held_out: Codes | None = None,
    callback: Callback | None = None,
    keeper: Keeper | None = None,
) -> nn.Module:
    """Train `network`, whose `log_prob(views)` answers (B, K, F), and return it with its averaged weights.

    A run that goes on from what the `keeper` kept ends with the same weights as one that was never interrupted.
    """
    network = network.to(device).train()
    generator = Generator().manual_seed(seed)
    record = recorder(network, objective, schedule, device)
    # What is replayed is packed first, and sent in one piece.
    batches = Batches(codes, settings.batch_size, device if record is None else torch.device("cpu"), generator)
    watched = _fixed_batch(held_out, objective, schedule, seed, device)
    optimiser = adamw(network, settings.learning_rate, settings.weight_decay, recordable=record is not None)
    as_it_is = Step(network, optimiser, objective, schedule)
    take = as_it_is if record is None else replayed(as_it_is, record, codes, device)
    average = copy.deepcopy(network).eval().requires_grad_(False) if settings.average else None
    steps = settings.stop.steps(len(codes), settings.batch_size)
    losses: list[float] = []
    run = _Run(network, average, optimiser, batches, losses, device)
    name = "" if keeper is None else run.name(codes, settings, objective, schedule, seed)
    rng = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])
    with rng, own_stream(device), _threads_for(network, device):
        torch.manual_seed(seed)  # dropout has no generator of its own
        done = 0 if keeper is None else run.restore(keeper.load(name))
        for step in range(done + 1, steps + 1):
            set_rate(optimiser, settings.rate(step, steps))
            loss = take(masked(batches.next(), objective, schedule, generator))
            if average is not None:
                _follow(average, network, settings.average, step)
            if step % settings.look_every == 0 or step == steps:
                seen = None if watched is None else watched(average or network)
                losses += [] if seen is None else [seen]
                if callback is not None:
                    callback(Progress("training", step, steps, float(loss), seen))
                if settings.stop.done(losses):
                    break
                if keeper is not None:
                    keeper.keep(name, functools.partial(run.state, step))
    optimiser.zero_grad(set_to_none=True)
    return (average or network).eval().requires_grad_(False)


@contextmanager
def _threads_for(network: nn.Module, device: torch.device) -> Iterator[None]:
    """One thread for a small network on the CPU.

    Its steps are too short to share: two threads gain little on an idle machine, and wait for each other many times
    as long as they work on a busy one (300 steps: 2 s with one thread, 37 s with two beside another process).
    """
    threads = torch.get_num_threads()
    small = device.type == "cpu" and sum(p.numel() for p in network.parameters()) <= _SMALL_NETWORK
    torch.set_num_threads(1 if small else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _fixed_batch(
    held_out: Codes | None, objective: Objective, schedule: Schedule, seed: int, device: torch.device
) -> Callable[[nn.Module], float] | None:
    """The loss on held-out rows under masks that stay the same from look to look."""
    if held_out is None or not len(held_out):
        return None
    rows = as_rows(narrowed(held_out.take(slice(0, 1000))), device=device)

    def loss(network: nn.Module) -> float:
        training = network.training
        network.eval()
        with torch.no_grad():
            given = masked(rows, objective, schedule, Generator().manual_seed(seed + 1))
            value = objective_on(network, given, objective, schedule)
        network.train(training)
        return float(value)

    return loss


def _follow(average: nn.Module, network: nn.Module, decay: float, step: int) -> None:
    """Move the averaged weights towards the network's; early on faster, so that the first ones are forgotten."""
    weight = 1 - min(decay, step / (step + 10))
    torch._foreach_lerp_(list(average.parameters()), [p.detach() for p in network.parameters()], weight)


@dataclass(frozen=True, eq=False)
class _Run:
    """All that changes from step to step, as tensors and back."""

    network: nn.Module
    average: nn.Module | None
    optimiser: torch.optim.Optimizer
    batches: Batches
    losses: list[float]
    device: torch.device

    def name(self, codes: Codes, *settings: object) -> str:
        """Tells this run from runs on other rows or with other settings."""
        digest = hashlib.blake2b(f"{settings} {codes.schema.sizes.tolist()} {self.device.type}".encode())
        digest.update(np.ascontiguousarray(codes.values).data)
        return digest.hexdigest()

    def state(self, step: int) -> dict[str, Tensor]:
        steps = self.optimiser.state_dict()["state"]
        state = {f"optimiser.{i}.{name}": part for i, parts in steps.items() for name, part in parts.items()}
        for name, module in self._modules().items():
            state |= {f"{name}.{key}": part for key, part in module.state_dict().items()}
        if self.device.type == "cuda":
            state["dropout_cuda"] = torch.cuda.get_rng_state(self.device)
        state |= {"dropout": torch.get_rng_state(), "generator": self.batches.generator.get_state()}
        losses = torch.tensor(self.losses, dtype=torch.float64)
        return state | {"order": self.batches.order, "losses": losses, "step": torch.tensor(step)}

    def restore(self, state: dict[str, Tensor] | None) -> int:
        """Go back to where this state was taken; the number of steps done."""
        if state is None:
            return 0
        for name, module in self._modules().items():
            module.load_state_dict(_under(name, state))
        moments = self.optimiser.state_dict()
        for key, part in _under("optimiser", state).items():
            place, _, name = key.partition(".")
            moments["state"].setdefault(int(place), {})[name] = part
        self.optimiser.load_state_dict(moments)
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(state["dropout_cuda"], self.device)
        torch.set_rng_state(state["dropout"])
        self.batches.generator.set_state(state["generator"])
        self.batches.order = state["order"]
        self.losses[:] = state["losses"].tolist()
        return int(state["step"])

    def _modules(self) -> dict[str, nn.Module]:
        return {"network": self.network} | ({} if self.average is None else {"average": self.average})


def _under(name: str, state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {key.removeprefix(f"{name}."): part for key, part in state.items() if key.startswith(f"{name}.")}
