"""Where the training loop runs: in this process, unless another trainer is in charge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import nn

from maskdiff.codes import Codes
from maskdiff.training.loop import train

# Anything that trains a network as `training.train` does.
Trainer = Callable[..., nn.Module]

_TRAINER: ContextVar[Trainer] = ContextVar("trainer", default=train)


def train_network(network: nn.Module, codes: Codes, **how: Any) -> nn.Module:
    """Train with the trainer in charge; `how` is what `training.train` takes."""
    return _TRAINER.get()(network, codes, **how)


@contextmanager
def trained_by(trainer: Trainer) -> Iterator[None]:
    """Within this block, this trainer trains the networks that reconstructors fit."""
    before = _TRAINER.set(trainer)
    try:
        yield
    finally:
        _TRAINER.reset(before)
