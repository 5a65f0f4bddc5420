"""A training step that is recorded once and replayed from then on.

The networks here are small and so are their batches: on a GPU, starting the hundred operations of a step takes far
longer than computing them. A CUDA graph starts them all at once. B rows of a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Generator, Tensor

Step = Callable[[Tensor], Tensor]
# Runs a step as far as recording it needs; returns what does it again, and where its loss is found then.
Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]

_AS_THEY_ARE = 3


class Replayed:
    """A step that takes the numbers of the chosen rows and returns the loss, recorded for each size of batch.

    The first steps of each size are taken as they are: libraries set themselves up then, which cannot be recorded. They
    count like all others, so that nothing has to be undone. What is returned is overwritten by the next step.
    """

    def __init__(self, step: Step, record: Record) -> None:
        self.step = step
        self.record = record
        self.taken: Counter[int] = Counter()
        self.recorded: dict[int, tuple[Tensor, Callable[[], None], Tensor]] = {}

    def __call__(self, chosen_B: Tensor) -> Tensor:
        size = len(chosen_B)
        self.taken[size] += 1
        if self.taken[size] <= _AS_THEY_ARE:
            return self.step(chosen_B)
        if size not in self.recorded:
            given_B = chosen_B.clone()
            self.recorded[size] = (given_B, *self.record(lambda: self.step(given_B)))
        given_B, replay, loss = self.recorded[size]
        given_B.copy_(chosen_B)
        replay()
        return loss


def cuda_graph(step: Callable[[], Tensor], generator: Generator) -> tuple[Callable[[], None], Tensor]:
    """Record a step whose random numbers come from the generator; called within `own_stream`."""
    graph = torch.cuda.CUDAGraph()
    if torch.__version__ < "2.14":  # from then on graphs find their generators by themselves, and say so if told
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream(generator.device)):
        loss = step()
    return graph.replay, loss


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
