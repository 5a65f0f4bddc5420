"""Who takes a training step: this process alone, or several that each take their share of every batch.

All processes of a group draw the same batches and the same masks, take their share of the rows, and add up their
gradients, so that they take the step that one process would take, and hold the same weights after it.

Shapes: B rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Generator, Tensor, nn

from maskdiff.errors import MaskdiffError
from maskdiff.masking import MaskedViews
from maskdiff.training.batches import MaskedBatch
from maskdiff.training.checkpoint import CheckpointStore

Value = TypeVar("Value")
Loss = Callable[[nn.Module, MaskedBatch], Tensor]


class Group(Protocol):
    """The processes that train one network."""

    def backward(self, network: nn.Module, loss: Loss, batch: MaskedBatch) -> Tensor:
        """Leave the gradients of the loss of a whole batch in the network, which holds none yet; the loss."""

    def agreed(self, value: Callable[[], Value]) -> Value:
        """The same value in all processes, computed by one of them."""

    def stored(self, checkpoint: CheckpointStore | None) -> CheckpointStore | None:
        """The store to use: one process writes, all go on from what it wrote."""

    def start_step(self, dropout: Generator | None, seed: int, step: int) -> None:
        """Called before each step, with the generator of dropout (None: torch's own)."""


class Alone:
    """One process, as everywhere but on a cluster."""

    can_be_recorded = True

    def backward(self, network: nn.Module, loss: Loss, batch: MaskedBatch) -> Tensor:
        of_batch = loss(network, batch)
        of_batch.backward()
        return of_batch.detach()

    def agreed(self, value: Callable[[], Value]) -> Value:
        return value()

    def stored(self, checkpoint: CheckpointStore | None) -> CheckpointStore | None:
        return checkpoint

    def start_step(self, dropout: Generator | None, seed: int, step: int) -> None:
        pass


ALONE = Alone()


@dataclass(frozen=True)
class WorkerGroup:
    """`size` processes connected by `torch.distributed`, of which this is number `rank`.

    The loss has to be a mean over rows. Steps are never recorded: gradients leave the device.
    """

    rank: int
    size: int

    def backward(self, network: nn.Module, loss: Loss, batch: MaskedBatch) -> Tensor:
        mine, n_rows = share_of(batch, self.rank, self.size), len(batch.time_B)
        of_batch = torch.zeros((), device=batch.time_B.device)
        if len(mine.time_B):  # a batch may have fewer rows than there are workers
            of_batch = loss(network, mine) * (len(mine.time_B) / n_rows)
            of_batch.backward()
        return self._add_up([weight for weight in network.parameters() if weight.requires_grad], of_batch.detach())

    def _add_up(self, weights: list[nn.Parameter], loss: Tensor) -> Tensor:
        """The sum of all workers' losses; each weight gets the sum of its gradients, in one message."""
        # No gradient is not the same as zeros: the optimiser leaves such a weight as it is.
        there = loss.new_tensor([weight.grad is not None for weight in weights])
        gradients = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        message = torch.cat([*(gradient.flatten().to(loss.dtype) for gradient in gradients), there, loss[None]])
        self.add(message)
        *sums, there, loss = message.split([*(weight.numel() for weight in weights), len(weights), 1])
        for weight, gradient, found in zip(weights, sums, there.tolist(), strict=True):
            weight.grad = gradient.view_as(weight).to(weight.dtype) if found else None
        return loss[0]

    def agreed(self, value: Callable[[], Value]) -> Value:
        answer = self.send(_outcome(value) if self.rank == 0 else None)
        if isinstance(answer, MaskdiffError):
            raise answer
        found: Value = answer
        return found

    def stored(self, checkpoint: CheckpointStore | None) -> CheckpointStore | None:
        return None if checkpoint is None else _GroupStore(checkpoint, self)

    def start_step(self, dropout: Generator | None, seed: int, step: int) -> None:
        # Workers drop different cells. What they draw follows from the step, so that a resumed run draws the same.
        (torch if dropout is None else dropout).manual_seed(hash((seed, step, self.rank)) % 2**63)

    def add(self, values: Tensor) -> None:
        """The sum over all workers, in place."""
        torch.distributed.all_reduce(values)

    def send(self, value: Any) -> Any:
        """What the first worker gives, in all of them."""
        message = [value]
        torch.distributed.broadcast_object_list(message)
        return message[0]


@dataclass(frozen=True)
class _GroupStore:
    """The first worker writes and reads the checkpoint; the others may not see its disk."""

    store: CheckpointStore
    group: WorkerGroup

    def load(self, run: str) -> dict[str, Tensor] | None:
        return self.group.agreed(lambda: self.store.load(run))

    def save(self, run: str, state: Callable[[], dict[str, Tensor]]) -> None:
        if self.group.rank == 0:
            self.store.save(run, state)


def _outcome(value: Callable[[], Value]) -> Value | MaskdiffError:
    """The value, or the error that all workers are to raise: one alone would leave the others waiting."""
    try:
        return value()
    except MaskdiffError as error:
        return error


def share_of(batch: MaskedBatch, rank: int, size: int) -> MaskedBatch:
    """Every `size`-th row of a batch, from number `rank` on: rows in order of length are shared evenly.

    >>> rows = torch.arange(5)[:, None]
    >>> views = MaskedViews(rows, rows[:, None] > 1, rows[:, None] < 2, rows / 5)
    >>> share_of(MaskedBatch(views, rows[:, 0] / 5), rank=1, size=2).views.codes_BF[:, 0]
    tensor([1, 3])
    """
    mine, views = slice(rank, None, size), batch.views
    real_BF = None if views.real_BF is None else views.real_BF[mine]
    masks = (views.hidden[mine], views.visible[mine], views.mask_rate[mine])
    return replace(batch, views=MaskedViews(views.codes_BF[mine], *masks, None, real_BF), time_B=batch.time_B[mine])
