"""The two training losses, as pure functions of log-probabilities and masks (Eq. 2, 8).

Shapes: B rows, F fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Generator, Tensor

from maskdiff.errors import SettingError
from maskdiff.masking import Schedule
from maskdiff.state import Parameters, storable


class Objective(Protocol):
    """At which times rows are masked for training, and what the network's answers cost.

    One whose `loss` never looks at values to decide what to do may say so with `can_be_recorded = True`: on a GPU the
    training steps are then recorded and replayed. One whose `loss` is a mean over rows may say so with
    `is_mean_of_rows = True`: on a processor two threads then share a step.
    """

    def draw_times(self, n: int, *, generator: Generator) -> Tensor:
        """A time in (0, 1) for each of n rows."""

    def loss(self, log_prob_BF: Tensor, hidden_BF: Tensor, time_B: Tensor, schedule: Schedule) -> Tensor:
        """The cost of giving the hidden cells' true values these log-probabilities, a scalar."""


@storable
@dataclass(frozen=True)
class Reconstruction(Parameters):
    """Average surprise of the hidden cells, normalised per view, at the levels that are probed (Eq. 8)."""

    levels: tuple[float, ...]
    can_be_recorded: ClassVar[bool] = True
    is_mean_of_rows: ClassVar[bool] = True

    def draw_times(self, n: int, *, generator: Generator) -> Tensor:
        chosen = torch.randint(len(self.levels), (n,), generator=generator)
        return torch.tensor(self.levels)[chosen]

    def loss(self, log_prob_BF: Tensor, hidden_BF: Tensor, time_B: Tensor, schedule: Schedule) -> Tensor:
        surprise_B = -(log_prob_BF * hidden_BF).sum(dim=1)
        return (surprise_B / hidden_BF.sum(dim=1).clamp_min(1)).mean()


@storable
@dataclass(frozen=True)
class Diffusion(Parameters):
    """The standard masked-diffusion loss: continuous time, summed surprise weighted by w(t) (Eq. 2).

    Times are spread evenly over (0, 1) within a batch, which lowers the variance and changes no expectation;
    none comes closer to 0 than `earliest`, where w(t) has no bound.
    """

    earliest: float = 1e-3
    can_be_recorded: ClassVar[bool] = True
    is_mean_of_rows: ClassVar[bool] = True

    def draw_times(self, n: int, *, generator: Generator) -> Tensor:
        even = (torch.randperm(n, generator=generator) + torch.rand(n, generator=generator)) / n
        return self.earliest + (1 - self.earliest) * even

    def loss(self, log_prob_BF: Tensor, hidden_BF: Tensor, time_B: Tensor, schedule: Schedule) -> Tensor:
        surprise_B = -(log_prob_BF * hidden_BF).sum(dim=1)
        return (schedule.weight(time_B) * surprise_B).mean()


# Name -> the objective for these probe levels.
OBJECTIVES: dict[str, Callable[[tuple[float, ...]], Objective]] = {
    "reconstruction": Reconstruction,
    "diffusion": lambda levels: Diffusion(),
}


def as_objective(objective: str | Objective, levels: Sequence[float]) -> Objective:
    """The objective of that name for these probe levels, or the one given."""
    if not isinstance(objective, str):
        return objective
    if objective not in OBJECTIVES:
        raise SettingError(f"no objective is called {objective!r}; choose one of {', '.join(OBJECTIVES)}.")
    return OBJECTIVES[objective](tuple(levels))
