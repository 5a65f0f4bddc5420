"""AdamW: torch's fused step without torch.optim, whose first use imports a compiler for seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

_BETAS, _EPSILON = (0.9, 0.999), 1e-8
_MOMENTS = ("exp_avg", "exp_avg_sq")


class FusedAdamW:
    """The same steps, states and names as `torch.optim.AdamW(parameters, lr, weight_decay=..., fused=True)`.

    A step that is recorded on a device reads the rate `lr` from a tensor there. Where `found_inf` is 1, a step moves
    nothing.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float | Tensor, *, weight_decay: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": lr}]
        self.weight_decay = weight_decay
        self.state: dict[int, dict[str, Tensor]] = {}
        self.found_inf: Tensor | None = None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for weight in self._weights:
            weight.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move every weight that has a gradient."""
        numbers = [number for number, weight in enumerate(self._weights) if weight.grad is not None]
        weights: list[Tensor] = [self._weights[number] for number in numbers]
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        states = [self._state_of(number) for number in numbers]
        steps = [state["step"] for state in states]
        mean, square = ([state[name] for state in states] for name in _MOMENTS)
        rate: float | Tensor = self.param_groups[0]["lr"]
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            weights,
            gradients,
            mean,
            square,
            [],
            steps,
            amsgrad=False,
            lr=rate,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            weight_decay=self.weight_decay,
            eps=_EPSILON,
            maximize=False,
            found_inf=self.found_inf,
        )
        if self.found_inf is not None:
            torch._foreach_sub_(steps, [self.found_inf] * len(steps))

    def state_dict(self) -> dict[str, Any]:
        """The state of each weight, by its number."""
        return {"state": {number: dict(state) for number, state in self.state.items()}}

    def load_state_dict(self, stored: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self.state = {
            number: {name: part.to(self._weights[number].device, copy=True) for name, part in state.items()}
            for number, state in stored["state"].items()
        }

    @property
    def _weights(self) -> list[nn.Parameter]:
        weights: list[nn.Parameter] = self.param_groups[0]["params"]
        return weights

    def _state_of(self, number: int) -> dict[str, Tensor]:
        if number not in self.state:
            weight = self._weights[number]
            moments = {name: torch.zeros_like(weight) for name in _MOMENTS}
            self.state[number] = {"step": torch.zeros((), device=weight.device), **moments}
        return self.state[number]


AdamW = FusedAdamW | torch.optim.Optimizer
