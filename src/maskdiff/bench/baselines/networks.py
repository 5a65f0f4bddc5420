"""One training loop and one scoring loop for every baseline that is a network.

A baseline is a module with its own `loss` and `score`. B rows of a batch, W columns, N normal rows, D distinct ones.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import Generator, Tensor, nn

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.codes import FloatArray, distinct_rows
from maskdiff.errors import InputError, SettingError
from maskdiff.progress import Callback, Progress
from maskdiff.training.cuda_graphs import CudaGraphRecorder, ReplayedStep, Step, side_stream, without_capture_warning

SCORED_AT_ONCE = 256
# A GPU is kept busy by more rows than that, fewer where they are wide.
_SCORED_AT_ONCE_ON_GPU = 2048
_CELLS_AT_ONCE_ON_GPU = 2**20


class Scorer(nn.Module):
    """A network that is trained on normal rows and then scores rows one by one."""

    # Tables of categories repeat themselves: equal rows of a batch are computed once and count as often as they come.
    # Not so where they must differ, as when noise is added, or where a layer looks at the batch as a whole.
    equal_rows_once: ClassVar[bool] = True
    # On a GPU the step is recorded once and replayed; not so where other people's code decides by what it is given.
    recordable: ClassVar[bool] = True

    def begin(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Before training: look at the normal rows, given with their shares of all."""

    def begin_epoch(self, epoch: int) -> None:
        """Before each epoch, the first being 1."""

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        """What training makes small, a single number; a row counts with its share of the batch, all together 1.

        It may not look at values to decide what to do, unless it is not `recordable`.
        """
        raise NotImplementedError

    def settle(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """After training: keep what scoring needs to know of the normal rows, given with their shares of all."""

    def score(self, rows_BW: Tensor) -> Tensor:
        """How odd each row is, shape (B,)."""
        raise NotImplementedError


@dataclass(frozen=True)
class Fitting:
    """Adam on shuffled batches; `decay` multiplies the learning rate after every epoch, or after those given.

    `decoupled` weight decay is that of AdamW; `amsgrad` divides by the largest second moment so far. Gradients longer
    than `longest_gradient` are shortened to it.
    """

    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    decay: float = 1.0
    decay_after: tuple[int, ...] | None = None
    momentum: float = 0.9
    decoupled: bool = False
    amsgrad: bool = False
    longest_gradient: float | None = None

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_size < 1 or self.learning_rate <= 0:
            raise SettingError(f"epochs >= 1, batch_size >= 1 and learning_rate > 0 are needed; got {self}.")


class NetworkDetector:
    """A network baseline on a matrix; `build(n_rows, n_columns)` makes the untrained network.

    With `standardise` the network sees columns of mean 0 and variance 1 among the normal rows; a column that is
    constant there, such as that of unseen values, keeps its scale.
    """

    fewest_at_once = SCORED_AT_ONCE

    def __init__(
        self,
        build: Callable[[int, int], Scorer],
        fitting: Fitting,
        *,
        standardise: bool = False,
        seed: int = 0,
        device: str = "auto",
        callback: Callback | None = None,
    ) -> None:
        self.build = build
        self.fitting = fitting
        self.standardise = standardise
        self.seed = seed
        self.device = device
        self.callback = callback

    def fit(self, X: Matrix) -> Self:
        """Learn from normal rows."""
        if self.standardise:
            self.scaler_ = StandardScaler().fit(np.asarray(X, dtype=np.float32))
        X = self._seen(X)
        device = torch_device(self.device)
        # First weights and dropout have no generator of their own.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(self.seed)
            network = self.build(*X.shape)
            check_memory(network, device)
            network = network.to(device)
            rows = NormalRows.of(X, device, merge=network.equal_rows_once)
            with torch.no_grad():
                network.begin(rows.batches(scored_at_once(device, X.shape[1], self.fewest_at_once)))
            _train(network, rows, self.fitting, self.seed, self.callback)
        self.network_ = network.eval().requires_grad_(False)
        with torch.no_grad():
            network.settle(rows.batches(scored_at_once(device, X.shape[1], self.fewest_at_once)))
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        device = torch_device(self.device)
        rows_NW = torch.as_tensor(self._seen(X))
        batches = rows_NW.split(scored_at_once(device, rows_NW.shape[1], self.fewest_at_once))
        with torch.no_grad():
            parts = [self.network_.score(batch.to(device)).double() for batch in batches]
        return torch.cat(parts).cpu().numpy()

    def _seen(self, X: Matrix) -> Matrix:
        """The rows as the network is shown them."""
        rows: Matrix = np.asarray(X, dtype=np.float32)
        return self.scaler_.transform(rows) if self.standardise else rows


@dataclass(frozen=True)
class NormalRows:
    """The rows to train on: the distinct ones, and which of them each row is."""

    rows_DW: Tensor
    which_N: Tensor

    @classmethod
    def of(cls, X: Matrix, device: torch.device, *, merge: bool) -> NormalRows:
        """The rows of a matrix; without `merge` every row stands for itself."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        first, which = distinct_rows(rows.view(np.int32))[:2] if merge else (slice(None), np.arange(len(rows)))
        return cls(torch.as_tensor(rows[first], device=device), torch.as_tensor(which, device=device))

    def take(self, chosen_B: Tensor) -> tuple[Tensor, Tensor]:
        """The distinct ones among the chosen rows, and the share of each."""
        present, times = self.which_N[chosen_B].unique(return_counts=True)
        return self.rows_DW[present], times / len(chosen_B)

    def each(self, chosen_B: Tensor) -> tuple[Tensor, Tensor]:
        """The chosen rows one by one, all with the same share: as many as were chosen, whatever they hold."""
        n = len(chosen_B)
        return self.rows_DW[self.which_N[chosen_B]], torch.full((n,), 1 / n, device=chosen_B.device)

    def batches(self, size: int) -> Iterable[tuple[Tensor, Tensor]]:
        """All distinct rows, `size` at a time, and the share of each among all rows."""
        share_D = self.which_N.bincount(minlength=len(self.rows_DW)) / len(self.which_N)
        return zip(self.rows_DW.split(size), share_D.split(size), strict=True)


@dataclass(frozen=True)
class _Step:
    """One step of Adam on the chosen rows; returns the loss before it."""

    network: Scorer
    take: Callable[[Tensor], tuple[Tensor, Tensor]]
    optimiser: torch.optim.Optimizer
    generator: Generator
    longest_gradient: float | None = None

    def __call__(self, chosen_B: Tensor) -> Tensor:
        loss = self.network.loss(*self.take(chosen_B), generator=self.generator)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if self.longest_gradient is not None:
            nn.utils.clip_grad_norm_(self.network.parameters(), self.longest_gradient)
        self.optimiser.step()
        return loss.detach()


def _adam(network: Scorer, fitting: Fitting, device: torch.device, *, recordable: bool) -> torch.optim.Adam:
    # A recorded step reads the rate from its tensor; a plain number would stay as it was when the step was recorded.
    rate = torch.tensor(fitting.learning_rate, device=device) if recordable else fitting.learning_rate
    make = torch.optim.AdamW if fitting.decoupled else torch.optim.Adam
    optimiser = make(
        [weights for weights in network.parameters() if weights.requires_grad],
        lr=rate,
        betas=(fitting.momentum, 0.999),
        weight_decay=fitting.weight_decay,
        amsgrad=fitting.amsgrad,
        capturable=recordable,
        fused=device.type in ("cpu", "cuda"),
    )
    return without_capture_warning(optimiser) if recordable else optimiser


def _train(network: Scorer, rows: NormalRows, fitting: Fitting, seed: int, callback: Callback | None) -> None:
    device = rows.rows_DW.device
    on_gpu = device.type == "cuda"
    generator = Generator(device).manual_seed(seed)
    network.train()
    with side_stream(device):
        recorded = on_gpu and network.recordable
        optimiser = _adam(network, fitting, device, recordable=recorded)
        schedule = _schedule(optimiser, fitting)
        # A GPU would have to be waited for to know how many rows are distinct.
        take = rows.each if on_gpu else rows.take
        step: Step = _Step(network, take, optimiser, generator, fitting.longest_gradient)
        if recorded:
            step = ReplayedStep(step, CudaGraphRecorder(generator))
        for epoch in range(1, fitting.epochs + 1):
            network.begin_epoch(epoch)
            order_N = torch.randperm(len(rows.which_N), generator=generator, device=device)
            for chosen_B in order_N.split(fitting.batch_size):
                loss = step(chosen_B)
            schedule.step()
            if callback is not None:
                callback(Progress("training", epoch, fitting.epochs, float(loss)))
    optimiser.zero_grad(set_to_none=True)


def _schedule(optimiser: torch.optim.Optimizer, fitting: Fitting) -> torch.optim.lr_scheduler.LRScheduler:
    if fitting.decay_after is None:
        return torch.optim.lr_scheduler.ExponentialLR(optimiser, fitting.decay)
    return torch.optim.lr_scheduler.MultiStepLR(optimiser, list(fitting.decay_after), fitting.decay)


def scored_at_once(device: torch.device, n_columns: int, fewest: int = SCORED_AT_ONCE) -> int:
    """How many rows are scored at a time; a row's score does not depend on it."""
    if device.type != "cuda":
        return fewest
    return max(fewest, min(_SCORED_AT_ONCE_ON_GPU, _CELLS_AT_ONCE_ON_GPU // n_columns))


def check_memory(network: nn.Module, device: torch.device) -> None:
    """Refuse a network that cannot be trained here before the system ends the whole process for it."""
    if device.type == "cuda":
        there_is = torch.cuda.get_device_properties(device).total_memory
    elif hasattr(os, "sysconf"):
        there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    else:
        return
    n_weights = sum(weights.numel() for weights in network.parameters())
    # Each with its gradient and Adam's two averages.
    needed = 4 * 4 * n_weights
    if needed > there_is:
        raise InputError(
            f"{type(network).__name__} has {n_weights / 1e6:,.0f} million weights for a table this wide, and training "
            f"them takes {needed / 2**30:.1f} GB of memory; there are {there_is / 2**30:.1f}. A table with fewer "
            "columns or categories, or a machine with more memory, will do."
        )


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
