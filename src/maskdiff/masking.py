"""The forward process: how fast cells are hidden over time, and what a masked view of a row holds (Eq. 1, 3).

Shapes: B rows, K views, F fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Codes
from maskdiff.errors import SettingError
from maskdiff.state import Parameters, registry


class Schedule:
    """alpha_t: the share of cells still visible at time t, falling from about 1 at t = 0 to 0 at t = 1.

    Subclasses give `alpha`; the rest follows from it. One whose `alpha` never looks at values to decide what to do may
    say so with `can_be_recorded = True`: on a GPU the training steps are then recorded and replayed.

    >>> Linear().mask_rate(torch.tensor([0.1, 0.9]))
    tensor([0.1000, 0.9000])
    """

    can_be_recorded: ClassVar[bool] = False

    def alpha(self, time: Tensor) -> Tensor:
        """alpha_t, the probability that a cell is still visible at this time."""
        raise SettingError(f"{type(self).__name__} gives no alpha: define alpha(time) -> Tensor.")

    def mask_rate(self, time: Tensor) -> Tensor:
        """1 - alpha_t, the probability that a cell is hidden at this time."""
        return 1 - self.alpha(time)

    def weight(self, time: Tensor) -> Tensor:
        """-w(t) = -alpha'_t / (1 - alpha_t), the weight of Eq. 2, as a positive number."""
        with torch.enable_grad():
            at = time.detach().clone().requires_grad_(True)
            alpha = self.alpha(at)
            (slope,) = torch.autograd.grad(alpha.sum(), at)
        return -slope / (1 - alpha.detach())


@dataclass(frozen=True)
class Linear(Schedule):
    """alpha_t = 1 - t: the mask rate is the time itself. The paper's choice."""

    can_be_recorded: ClassVar[bool] = True

    def alpha(self, time: Tensor) -> Tensor:
        return 1 - time


@dataclass(frozen=True)
class Cosine(Schedule):
    """alpha_t = cos(pi t / 2): little is hidden early on."""

    can_be_recorded: ClassVar[bool] = True

    def alpha(self, time: Tensor) -> Tensor:
        return torch.cos(time * (math.pi / 2))


@dataclass(frozen=True)
class Polynomial(Parameters, Schedule):
    """alpha_t = 1 - t^power."""

    power: float = 2.0
    can_be_recorded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.power <= 100:
            raise SettingError(f"power must be above 0 and at most 100; got {self.power}.")

    def alpha(self, time: Tensor) -> Tensor:
        return 1 - time**self.power


SCHEDULES: dict[str, Callable[[], Schedule]] = registry({"linear": Linear, "cosine": Cosine, "polynomial": Polynomial})


def as_schedule(schedule: str | Schedule) -> Schedule:
    """The schedule of that name, or the one given, once it is seen to fall from about 1 to 0."""
    if isinstance(schedule, str):
        if schedule not in SCHEDULES:
            raise SettingError(f"no schedule is called {schedule!r}; choose one of {', '.join(SCHEDULES)}.")
        return SCHEDULES[schedule]()
    alpha = schedule.alpha(torch.linspace(0, 1, 101, dtype=torch.float64))
    falls = (alpha[0] - 1).abs() <= 0.01 and alpha[-1].abs() <= 1e-6 and (alpha.diff() <= 1e-12).all()
    if not falls:
        raise SettingError(f"{schedule!r} must fall from about 1 at time 0 to 0 at time 1, never rising in between.")
    return schedule


@dataclass(frozen=True, eq=False)
class MaskedViews:
    """Rows seen through masks: which cells are to be answered, and which may be used to answer.

    `hidden` and `visible` have shape (B, K, F), or (1, K, F) where all rows share their masks. A cell can be neither:
    an unseen value tells the reconstructor nothing, so it is not shown as context, and padding is never either.
    `codes_BF` holds only codes the schema knows; `mask_rate` has shape (B, K) or (1, K). `own_BF` are the rows as they
    stand among the normal rows, where they are to be left out of them. `real_BF` is False for padding (None: there is
    none), which `hidden` and `visible` alone do not tell from an unseen value. `places_M`, in training, are the hidden
    cells by their number, and others behind them up to a number that is known without asking a device.
    """

    codes_BF: Tensor
    hidden: Tensor
    visible: Tensor
    mask_rate: Tensor
    own_BF: Tensor | None = None
    real_BF: Tensor | None = None
    places_M: Tensor | None = None

    @property
    def n_rows(self) -> int:
        return len(self.codes_BF)

    @property
    def n_views(self) -> int:
        return self.hidden.shape[1]

    def rows(self, start: int, stop: int) -> MaskedViews:
        """The same views of a run of rows."""
        masks = (self.hidden, self.visible, self.mask_rate)
        hidden, visible, mask_rate = (t if t.shape[0] == 1 else t[start:stop] for t in masks)
        own, real = (None if t is None else t[start:stop] for t in (self.own_BF, self.real_BF))
        return MaskedViews(self.codes_BF[start:stop], hidden, visible, mask_rate, own, real)


@dataclass(frozen=True, eq=False)
class RowBatch:
    """A batch of codes as tensors on a device, with what is known of each cell.

    `place_B` are the places of the rows in their table, from which masks of their own are drawn (None: as they stand).
    """

    codes_BF: Tensor
    known_BF: Tensor | None
    real_BF: Tensor | None
    own_BF: Tensor | None = None
    place_B: Tensor | None = None

    def views(self, hidden: Tensor, mask_rate: Tensor) -> MaskedViews:
        """These rows through these masks; hidden (1 or B, K, F)."""
        visible = ~hidden
        if self.real_BF is not None:
            hidden = hidden & self.real_BF.unsqueeze(1)
            visible = visible & self.real_BF.unsqueeze(1)
        if self.known_BF is not None:
            visible = visible & self.known_BF.unsqueeze(1)
        return MaskedViews(self.codes_BF, hidden, visible, mask_rate, self.own_BF, self.real_BF)


def as_rows(codes: Codes, *, device: Any = "cpu", leave_one_out: bool = False) -> RowBatch:
    """Codes as tensors; an unseen value stands there as its field's rarest code, marked as not known.

    With `leave_one_out` each row is treated as left out of the normal rows: a value only this row had is unseen too,
    and another one stands in for it.
    """
    values = codes.values.astype(np.int64)
    known = codes.known
    if leave_one_out:
        known &= _count_of(codes) > 1
    if known.all():
        return RowBatch(torch.from_numpy(values).to(device), None, _tensor(codes.real, device))
    shown = np.where(known, values, codes.schema.rarest(other_than=values))
    parts = (_tensor(part, device) for part in (known, codes.real, values if leave_one_out else None))
    return RowBatch(torch.from_numpy(shown).to(device), *parts)


def _count_of(codes: Codes) -> NDArray[np.int64]:
    """How many normal rows held each cell's value, shape (N, F)."""
    sizes = codes.schema.sizes
    table = np.concatenate([np.array(f.counts) for f in codes.schema])
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    counts: NDArray[np.int64] = table[starts + np.minimum(codes.values, sizes - 1)]
    return counts


def _tensor(array: np.ndarray[Any, Any] | None, device: Any) -> Tensor | None:
    return None if array is None else torch.from_numpy(array).to(device)
