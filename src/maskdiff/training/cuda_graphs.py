"""A training step that is recorded once and replayed from then on.

The networks here are small and so are their batches: on a GPU, starting the hundreds of operations of a step takes far
longer than computing them. A CUDA graph starts them all at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import torch
from torch import Generator, Tensor

Step = Callable[..., Tensor]
# Runs a step as far as recording it needs; returns what does it again, and where its loss is found then.
Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
Key = tuple[Hashable, ...]
Adam = TypeVar("Adam", bound=torch.optim.Optimizer)

_AS_THEY_ARE = 2


class Replayed:
    """A step that takes tensors and returns the loss, recorded for each of their shapes and each value of the rest.

    The first steps of each kind are taken as they are: libraries set themselves up then, which cannot be recorded, and
    what comes up twice in all is not worth it. They count like all others, so that nothing has to be undone. What is
    returned is overwritten by the next step.
    """

    def __init__(self, step: Step, record: Record) -> None:
        self.step = step
        self.record = record
        self.taken: Counter[Key] = Counter()
        self.recorded: dict[Key, tuple[tuple[Tensor, ...], Callable[[], None], Tensor]] = {}

    def __call__(self, *new: Tensor, **rest: Hashable) -> Tensor:
        key = (*(tensor.shape for tensor in new), *rest.items())
        self.taken[key] += 1
        if self.taken[key] <= _AS_THEY_ARE:
            return self.step(*new, **rest)
        if key not in self.recorded:
            given = tuple(tensor.clone() for tensor in new)
            self.recorded[key] = (given, *self.record(lambda: self.step(*given, **rest)))
        given, replay, loss = self.recorded[key]
        for place, tensor in zip(given, new, strict=True):
            place.copy_(tensor)
        replay()
        return loss


class CudaGraphs:
    """Records steps that are replayed one at a time, and so can share their memory; called within `own_stream`.

    Random numbers come from the device's own generator or from the one given.
    """

    def __init__(self, generator: Generator | None = None) -> None:
        self.generator = generator
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        graph = torch.cuda.CUDAGraph()
        # From 2.14 on graphs find their generators by themselves, and say so if told.
        if self.generator is not None and torch.__version__ < "2.14":
            graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
            loss = step()
        return graph.replay, loss


def told_of_recording(optimiser: Adam) -> Adam:
    """An optimiser made with `capturable`, so that it does not warn of the steps that are taken as they are."""
    optimiser._warned_capturable_if_run_uncaptured = True
    return optimiser


@contextmanager
def own_stream(device: torch.device) -> Iterator[None]:
    """On a GPU, work beside its default stream, where nothing can be recorded, and wait for the end; else nothing."""
    if device.type != "cuda":
        yield
        return
    stream = _stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()


@cache  # libraries keep memory for every stream they have seen
def _stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)
