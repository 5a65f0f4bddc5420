"""How a network is trained, and when training ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from maskdiff.errors import SettingError
from maskdiff.state import Parameters, storable

# Few long rows need as many steps as few short ones.
_STEPS_IN_ANY_CASE = 1000


@runtime_checkable
class StopRule(Protocol):
    """When training ends. A rule without `ends_early = False` is taken to look at held-out losses."""

    def steps(self, n_rows: int, batch_size: int) -> int:
        """At most this many steps."""

    def done(self, held_out_losses: list[float]) -> bool:
        """Whether to stop early, given the held-out losses so far."""


@storable
@dataclass(frozen=True)
class Epochs(Parameters):
    """A number of passes over the rows; the paper takes 20."""

    number: int = 20

    ends_early: ClassVar[bool] = False

    def steps(self, n_rows: int, batch_size: int) -> int:
        return self.number * math.ceil(n_rows / batch_size)

    def done(self, held_out_losses: list[float]) -> bool:
        return False


@storable
@dataclass(frozen=True)
class Steps(Parameters):
    """A number of steps, whatever the size of the table, but at most `most_epochs` passes over it.

    "20 epochs" is 28 steps on a thousand rows and 16,000 on half a million; a number of steps is one setting for all.
    The second bound keeps the network from memorising a small table. A batch holds few long rows, so that passes over
    them take many steps: `most_per_row` bounds these by the number of rows, beyond the first thousand (None: it does
    not).
    """

    number: int = 1000
    most_epochs: int = 100
    most_per_row: float | None = None

    ends_early: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.most_per_row is not None and not 0 < self.most_per_row < math.inf:
            raise SettingError(f"most_per_row must be None or above 0; got {self.most_per_row}.")

    def steps(self, n_rows: int, batch_size: int) -> int:
        wanted = self._wanted(n_rows, batch_size)
        if self.most_per_row is None:
            return wanted
        return min(wanted, max(_STEPS_IN_ANY_CASE, math.ceil(self.most_per_row * n_rows)))

    def cuts_short(self, n_rows: int, batch_size: int) -> bool:
        """Whether there are fewer steps than the other two bounds allow."""
        return self.steps(n_rows, batch_size) < self._wanted(n_rows, batch_size)

    def _wanted(self, n_rows: int, batch_size: int) -> int:
        return min(self.number, math.ceil(self.most_epochs * n_rows / batch_size))

    def done(self, held_out_losses: list[float]) -> bool:
        return False


@storable
@dataclass(frozen=True)
class HeldOutLoss(Parameters):
    """Until the loss on held-out normal rows has not fallen for `patience` looks, `at_most` steps in all."""

    patience: int = 5
    at_most: int = 5000

    ends_early: ClassVar[bool] = True

    def steps(self, n_rows: int, batch_size: int) -> int:
        return self.at_most

    def done(self, held_out_losses: list[float]) -> bool:
        since_best = len(held_out_losses) - 1 - int(np.argmin(held_out_losses)) if held_out_losses else 0
        return since_best >= self.patience


@dataclass(frozen=True)
class StopPart:
    """A part of a training on `n_rows` rows: what a network needs that was trained before, on most of them."""

    n_rows: int
    share: float

    def of(self, stop: StopRule) -> StopRule:
        """This part of what another rule says."""
        return _PartOf(stop, self)


@dataclass(frozen=True)
class _PartOf:
    """Ends after a part of the steps that another rule takes, or earlier where that one does."""

    stop: StopRule
    part: StopPart

    @property
    def ends_early(self) -> bool:
        return bool(getattr(self.stop, "ends_early", True))

    def steps(self, n_rows: int, batch_size: int) -> int:
        return math.ceil(self.part.share * self.stop.steps(self.part.n_rows, batch_size))

    def cuts_short(self, n_rows: int, batch_size: int) -> bool:
        return cuts_short(self.stop, self.part.n_rows, batch_size)

    def done(self, held_out_losses: list[float]) -> bool:
        return self.stop.done(held_out_losses)


def cuts_short(stop: StopRule, n_rows: int, batch_size: int) -> bool:
    """Whether a rule leaves a training less steps than it would take by itself; most rules know of no such thing."""
    own = getattr(stop, "cuts_short", None)
    return own is not None and bool(own(n_rows, batch_size))


@storable
@dataclass(frozen=True)
class Training(Parameters):
    """How a network is trained: AdamW, batches, when to stop, and the decay of the averaged weights (0: none).

    With `warmup` above 0 the learning rate rises over that share of the steps, then falls along a cosine to nothing.
    Of token rows a batch holds at most about `batch_tokens` tokens (None: any number), and a pass shows one window of
    each row, so that neither a step nor a pass takes longer on long rows. With `orthogonal` above 0 the matrices inside
    a transformer take orthogonal steps (Muon) of this many times the learning rate, in place of AdamW's; with
    `orthogonal_if_short` only where `stop` cuts the training short, for about half as many of them learn as much.
    Gradients with a norm above `clip` are scaled down to it, and a step whose gradient is not finite is skipped (None:
    neither).
    """

    stop: StopRule = field(default_factory=Steps)
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    average: float = 0.99
    look_every: int = 50
    warmup: float = 0.0
    batch_tokens: int | None = None
    orthogonal: float = 0.0
    clip: float | None = None
    orthogonal_if_short: float = 0.0

    @property
    def tunes(self) -> bool:
        """Whether held-out rows decide when training ends."""
        return bool(getattr(self.stop, "ends_early", True))

    def orthogonal_factor(self, n_rows: int, batch_size: int) -> float:
        """How many times the learning rate the orthogonal steps of this training are; 0: it takes none."""
        return self.orthogonal or (self.orthogonal_if_short if cuts_short(self.stop, n_rows, batch_size) else 0.0)

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of this step, the first being 1."""
        rising = self.warmup * steps
        if not rising:
            return self.learning_rate
        falling = min(1.0, max(0.0, (step - rising) / max(steps - rising, 1)))
        return self.learning_rate * min(step / rising, (1 + math.cos(math.pi * falling)) / 2)

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < 1:
            raise SettingError(f"warmup is a share of the steps, 0 <= warmup < 1; got {self.warmup}.")
        factors = (self.orthogonal, self.orthogonal_if_short)
        if not all(0 <= factor < math.inf for factor in factors):
            raise SettingError(f"orthogonal and orthogonal_if_short must be 0 (AdamW alone) or above; got {factors}.")
        if self.clip is not None and (self.clip <= 0 or any(factors)):
            raise SettingError(f"clip must be None or above 0, and None with orthogonal steps; got {self}.")
        if self.batch_tokens is not None and self.batch_tokens < 1:
            raise SettingError(f"batch_tokens must be None or at least 1; got {self.batch_tokens}.")
        if min(self.batch_size, self.look_every) < 1 or self.learning_rate <= 0 or not 0 <= self.average < 1:
            raise SettingError(
                f"batch_size, look_every >= 1, learning_rate > 0 and 0 <= average < 1 are needed; got {self}."
            )
