"""One training loop and one scoring loop for every baseline that is a network.

A baseline is a module with its own `loss` and `score`. B rows of a batch, W columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import torch
from torch import Generator, Tensor, nn

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.codes import FloatArray
from maskdiff.errors import SettingError
from maskdiff.progress import Callback, Progress

_SCORED_AT_ONCE = 256


class Scorer(nn.Module):
    """A network that is trained on normal rows and then scores rows one by one."""

    def loss(self, rows_BW: Tensor, *, generator: Generator) -> Tensor:
        """What training makes small, a single number."""
        raise NotImplementedError

    def settle(self, batches: Sequence[Tensor]) -> None:
        """After training: keep what scoring needs to know of the normal rows, here given in batches."""

    def score(self, rows_BW: Tensor) -> Tensor:
        """How odd each row is, shape (B,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Fitting:
    """Adam on shuffled batches; `decay` multiplies the learning rate after every epoch."""

    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    decay: float = 1.0
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or self.learning_rate <= 0:
            raise SettingError(f"epochs >= 1, batch_size >= 1 and learning_rate > 0 are needed; got {self}.")


class NetworkDetector:
    """A network baseline on a matrix; `build(n_rows, n_columns)` makes the untrained network."""

    def __init__(
        self,
        build: Callable[[int, int], Scorer],
        fitting: Fitting,
        *,
        seed: int = 0,
        device: str = "auto",
        callback: Callback | None = None,
    ) -> None:
        self.build = build
        self.fitting = fitting
        self.seed = seed
        self.device = device
        self.callback = callback

    def fit(self, X: Matrix) -> Self:
        """Learn from normal rows."""
        device = torch_device(self.device)
        rows_NW = torch.as_tensor(np.asarray(X, dtype=np.float32), device=device)
        # First weights and dropout have no generator of their own.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.seed)
            network = self.build(len(rows_NW), rows_NW.shape[1]).to(device)
            _train(network, rows_NW, self.fitting, self.seed, self.callback)
        self.network_ = network.eval().requires_grad_(False)
        with torch.no_grad():
            network.settle(rows_NW.split(_SCORED_AT_ONCE))
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        device = torch_device(self.device)
        rows_NW = torch.as_tensor(np.asarray(X, dtype=np.float32))
        with torch.no_grad():
            parts = [self.network_.score(batch.to(device)).double().cpu() for batch in rows_NW.split(_SCORED_AT_ONCE)]
        return torch.cat(parts).numpy()


def _train(network: Scorer, rows_NW: Tensor, fitting: Fitting, seed: int, callback: Callback | None) -> None:
    device = rows_NW.device
    generator = Generator(device).manual_seed(seed)
    optimiser = torch.optim.Adam(
        network.parameters(),
        lr=fitting.learning_rate,
        betas=(fitting.momentum, 0.999),
        weight_decay=fitting.weight_decay,
        fused=device.type in ("cpu", "cuda"),
    )
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, fitting.decay)
    network.train()
    for epoch in range(1, fitting.epochs + 1):
        order_N = torch.randperm(len(rows_NW), generator=generator, device=device)
        for chosen_B in order_N.split(fitting.batch_size):
            loss = network.loss(rows_NW[chosen_B], generator=generator)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        schedule.step()
        if callback is not None:
            callback(Progress("training", epoch, fitting.epochs, float(loss.detach())))


def torch_device(name: str) -> torch.device:
    """The device of this name; "auto" takes a GPU where there is one."""
    if name != "auto":
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def layers(*widths: int, activation: Callable[[], nn.Module], bias: bool = True) -> nn.Sequential:
    """Linear layers of these widths with an activation between them, none after the last."""
    steps: list[nn.Module] = []
    for width, following in pairwise(widths):
        steps += [nn.Linear(width, following, bias=bias), activation()]
    return nn.Sequential(*steps[:-1])


def leaky() -> nn.Module:
    """The activation most of these papers use."""
    return nn.LeakyReLU(0.2)
