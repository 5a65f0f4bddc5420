"""The one training loop: batches, stop rule, averaged weights, held-out loss, progress.

Shapes: B rows, F fields.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Generator, Tensor, nn

from maskdiff.codes import Codes
from maskdiff.errors import SettingError
from maskdiff.masking import Rows, Schedule, as_rows
from maskdiff.objectives import Objective
from maskdiff.progress import Callback, Progress


class StopRule(Protocol):
    """When training ends."""

    def steps(self, n_rows: int, batch_size: int) -> int:
        """At most this many steps."""

    def done(self, held_out_losses: list[float]) -> bool:
        """Whether to stop early, given the held-out losses so far."""


@dataclass(frozen=True)
class Epochs:
    """A number of passes over the rows; the paper takes 20."""

    number: int = 20

    def steps(self, n_rows: int, batch_size: int) -> int:
        return self.number * math.ceil(n_rows / batch_size)

    def done(self, held_out_losses: list[float]) -> bool:
        return False


@dataclass(frozen=True)
class Steps:
    """A number of steps, whatever the size of the table, but no more than `most_epochs` passes over it.

    "20 epochs" is 28 steps on a thousand rows and 16,000 on half a million; a number of steps is one setting for all.
    The second bound keeps a small table from being learnt by heart.
    """

    number: int = 1000
    most_epochs: int = 100

    def steps(self, n_rows: int, batch_size: int) -> int:
        return min(self.number, math.ceil(self.most_epochs * n_rows / batch_size))

    def done(self, held_out_losses: list[float]) -> bool:
        return False


@dataclass(frozen=True)
class HeldOutLoss:
    """Until the loss on held-out normal rows has not fallen for `patience` looks, `at_most` steps in all."""

    patience: int = 5
    at_most: int = 5000

    def steps(self, n_rows: int, batch_size: int) -> int:
        return self.at_most

    def done(self, held_out_losses: list[float]) -> bool:
        since_best = len(held_out_losses) - 1 - int(np.argmin(held_out_losses)) if held_out_losses else 0
        return since_best >= self.patience


@dataclass(frozen=True)
class Training:
    """How a network is trained: AdamW, batches, when to stop, and the decay of the averaged weights (0: none)."""

    stop: StopRule = field(default_factory=Steps)
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    average: float = 0.99
    look_every: int = 50

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.learning_rate <= 0 or not 0 <= self.average < 1:
            raise SettingError(f"batch_size >= 1, learning_rate > 0 and 0 <= average < 1 are needed; got {self}.")


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
) -> nn.Module:
    """Train `network`, whose `log_prob(views)` answers (B, K, F), and return it with its averaged weights."""
    network = network.to(device).train()
    generator = Generator().manual_seed(seed)
    batches = _Batches(codes, settings.batch_size, device, generator)
    watched = _fixed_batch(held_out, objective, schedule, seed, device)
    fused = device.type in ("cpu", "cuda")
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=fused
    )
    average = copy.deepcopy(network).eval().requires_grad_(False) if settings.average else None
    steps = settings.stop.steps(len(codes), settings.batch_size)
    losses: list[float] = []
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)  # dropout has no generator of its own
        for step in range(1, steps + 1):
            loss = _masked_loss(network, batches.next(), objective, schedule, generator)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            if average is not None:
                _follow(average, network, settings.average, step)
            if step % settings.look_every == 0 or step == steps:
                seen = None if watched is None else watched(average or network)
                losses += [] if seen is None else [seen]
                if callback is not None:
                    callback(Progress("training", step, steps, float(loss.detach()), seen))
                if settings.stop.done(losses):
                    break
    return (average or network).eval().requires_grad_(False)


def _masked_loss(
    network: nn.Module, rows: Rows, objective: Objective, schedule: Schedule, generator: Generator
) -> Tensor:
    """The objective on one fresh masked view of each row."""
    time_B = objective.draw_times(len(rows.codes_BF), generator=generator)
    rate_B = schedule.mask_rate(time_B)
    uniform_BF = torch.rand(rows.codes_BF.shape, generator=generator)
    device = rows.codes_BF.device
    hidden_BF = (uniform_BF < rate_B[:, None]).to(device)
    views = rows.views(hidden_BF[:, None], rate_B[:, None].to(device))
    log_prob_BF: Tensor = network.log_prob(views)[:, 0]  # type: ignore[operator]
    return objective.loss(log_prob_BF, views.hidden[:, 0], time_B.to(device), schedule)


def _fixed_batch(
    held_out: Codes | None, objective: Objective, schedule: Schedule, seed: int, device: torch.device
) -> Callable[[nn.Module], float] | None:
    """The loss on held-out rows under masks that stay the same from look to look."""
    if held_out is None or not len(held_out):
        return None
    rows = as_rows(held_out.take(slice(0, 1000)), device=device)

    def loss(network: nn.Module) -> float:
        training = network.training
        network.eval()
        with torch.no_grad():
            value = _masked_loss(network, rows, objective, schedule, Generator().manual_seed(seed + 1))
        network.train(training)
        return float(value)

    return loss


def _follow(average: nn.Module, network: nn.Module, decay: float, step: int) -> None:
    """Move the averaged weights towards the network's; early on faster, so that the first ones are forgotten."""
    weight = 1 - min(decay, step / (step + 10))
    torch._foreach_lerp_(list(average.parameters()), [p.detach() for p in network.parameters()], weight)


class _Batches:
    """Rows in random order, pass after pass; every batch is full."""

    def __init__(self, codes: Codes, size: int, device: torch.device, generator: Generator) -> None:
        self.rows = as_rows(codes, device=device)
        self.size = min(size, len(codes))
        self.generator = generator
        self.order = torch.empty(0, dtype=torch.int64)

    def next(self) -> Rows:
        if len(self.order) < self.size:
            fresh = torch.randperm(len(self.rows.codes_BF), generator=self.generator)
            self.order = torch.cat([self.order, fresh])
        chosen, self.order = self.order[: self.size], self.order[self.size :]
        chosen = chosen.to(self.rows.codes_BF.device)
        known, real = self.rows.known_BF, self.rows.real_BF
        return Rows(
            self.rows.codes_BF[chosen],
            None if known is None else known[chosen],
            None if real is None else real[chosen],
        )
