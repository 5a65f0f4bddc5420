"""One step in two threads: each takes half of the rows of a batch, and their gradients are added up.

The operations of a small transformer are too short to be shared by threads, a step is not. There are always two halves,
whatever the number of threads, so that what is learned does not depend on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Generator, Tensor, nn

from maskdiff.objectives import Objective
from maskdiff.training.batches import MaskedBatch
from maskdiff.training.groups import ALONE, Alone, Group, Loss, share_of

_N_HALVES = 2
Gradients = tuple[Tensor | None, ...]


@dataclass(frozen=True, eq=False)
class Halves(Alone):
    """Two copies of a network with the same weights, each with a generator of its own for dropout."""

    copies: list[nn.Module]
    generators: list[Generator]
    pool: ThreadPoolExecutor | None

    def backward(self, network: nn.Module, loss: Loss, batch: MaskedBatch) -> Tensor:
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        calls = [
            partial(_gradients, one, weights, loss, share_of(batch, rank, _N_HALVES), len(batch.time_B))
            for rank, one in enumerate(self.copies)
        ]
        (loss_0, first), (loss_1, second) = self._together(calls)
        for weight, one, other in zip(weights, first, second, strict=True):
            weight.grad = other if one is None else one if other is None else one.add_(other)
        return loss_0 + loss_1

    def _together(self, calls: Sequence[Callable[[], tuple[Tensor, Gradients]]]) -> list[tuple[Tensor, Gradients]]:
        mine, other = calls
        if self.pool is None:
            return [mine(), other()]
        pending = self.pool.submit(other)
        try:
            first = mine()
        finally:
            pending.exception()  # waits: nobody else may change the weights meanwhile
        return [first, pending.result()]

    def start_step(self, dropout: Generator | None, seed: int, step: int) -> None:
        # As for several workers: what is drawn follows from the step.
        for rank, generator in enumerate(self.generators):
            generator.manual_seed(hash((seed, step, rank)) % 2**63)


def _gradients(
    network: nn.Module, weights: list[nn.Parameter], loss: Loss, batch: MaskedBatch, n_rows: int
) -> tuple[Tensor, Gradients]:
    """The part of these rows in the loss of all, and in its gradients."""
    if not len(batch.time_B):  # a batch of one row
        return torch.zeros(()), (None,) * len(weights)
    part = loss(network, batch) * (len(batch.time_B) / n_rows)
    return part.detach(), torch.autograd.grad(part, weights, allow_unused=True)


@contextmanager
def in_halves(group: Group, network: nn.Module, objective: Objective, device: torch.device) -> Iterator[Group]:
    """The group that trains the network: two threads in place of one process where that is possible.

    Only on a processor, for a network that says it may be copied, and a loss that is a mean over rows.
    """
    possible = getattr(network, "can_be_halved", False) and getattr(objective, "is_mean_of_rows", False)
    if group is not ALONE or device.type != "cpu" or not possible:
        yield group
        return
    copies, generators = zip(*(_copy(network) for _ in range(_N_HALVES)), strict=True)
    threads = torch.get_num_threads()
    set_threads = partial(torch.set_num_threads, max(1, threads // _N_HALVES))
    pool = ThreadPoolExecutor(1, initializer=set_threads) if threads > 1 else None
    set_threads()
    try:
        yield Halves(list(copies), list(generators), pool)
    finally:
        if pool is not None:
            pool.shutdown()
        torch.set_num_threads(threads)


def _copy(network: nn.Module) -> tuple[nn.Module, Generator]:
    """A network of the same weights, and what its dropout draws from."""
    one = copy.deepcopy(network, {id(weight): weight for weight in network.parameters()})
    generator = Generator()
    one.draw_from(generator)  # type: ignore[operator]
    return one, generator
