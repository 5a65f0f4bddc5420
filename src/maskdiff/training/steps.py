"""One step of training, taken as it is or, where the device can, recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from maskdiff.codes import Codes
from maskdiff.masking import SCHEDULES, Schedule
from maskdiff.objectives import Diffusion, Objective, Reconstruction
from maskdiff.training.batches import Masked, Shape, packed, sent, unpacked
from maskdiff.training.cuda_graphs import CudaGraphs, Record, Replayed, told_of_recording

RECORDERS: dict[str, Callable[[], Record]] = {"cuda": CudaGraphs}


@dataclass(frozen=True, eq=False)
class Step:
    """One step of AdamW on masked rows; returns the loss before it."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    objective: Objective
    schedule: Schedule

    def __call__(self, given: Masked) -> Tensor:
        loss = objective_on(self.network, given, self.objective, self.schedule)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return loss.detach()


def objective_on(network: nn.Module, given: Masked, objective: Objective, schedule: Schedule) -> Tensor:
    """The objective's loss of what the network, whose `log_prob(views)` answers (B, K, F), makes of masked rows."""
    log_prob_BF: Tensor = network.log_prob(given.views)[:, 0]  # type: ignore[operator]
    return objective.loss(log_prob_BF, given.views.hidden[:, 0], given.time_B, schedule)


def recorder(network: nn.Module, objective: Objective, schedule: Schedule, device: torch.device) -> Record | None:
    """What records steps on this device, None if they are taken as they are: where network or loss may look at values
    to decide what to do, which cannot be recorded.
    """
    known = type(objective) in (Reconstruction, Diffusion) and type(schedule) in SCHEDULES.values()
    can = known and getattr(network, "can_be_recorded", False) and device.type in RECORDERS
    return RECORDERS[device.type]() if can else None


def replayed(step: Step, record: Record, codes: Codes, device: torch.device) -> Callable[[Masked], Tensor]:
    """The same step, recorded for each shape of packed rows."""
    widest = None if codes.real is None else codes.values.shape[1]

    def on_packed(told: Tensor, *, shape: Shape) -> Tensor:
        return step(unpacked(told, shape))

    recorded = Replayed(on_packed, record)

    def take(given: Masked) -> Tensor:
        told, shape = packed(given, widest=widest)
        return recorded(sent(told, device), shape=shape)

    return take


def adamw(network: nn.Module, rate: float, weight_decay: float, *, recordable: bool) -> torch.optim.AdamW:
    """The optimiser of a network that lies on its device."""
    device = next(network.parameters()).device
    # What is recorded reads the rate from where it lies; a plain number would stay what it was.
    lies = torch.tensor(rate, device=device) if recordable else rate
    fused = device.type in ("cpu", "cuda")
    parameters = network.parameters()
    optimiser = torch.optim.AdamW(parameters, lies, weight_decay=weight_decay, fused=fused, capturable=recordable)
    return told_of_recording(optimiser) if recordable else optimiser


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the next step."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate
