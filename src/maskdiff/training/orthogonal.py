"""Orthogonal steps for the matrices inside a network (Muon), AdamW for all other weights.

A step moves a matrix along its averaged gradient with all singular values made equal, so that directions which the
gradient hardly shows are learned as fast as the others: transformers need about half as many steps.
N matrices, I and O their sides, I <= O.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from maskdiff.training.adamw import AdamW
from maskdiff.training.processor import has_half_products

_MOMENTUM = 0.95
# Five rounds of this polynomial bring all singular values near one.
_POLYNOMIAL, _ROUNDS = (3.4445, -4.7750, 2.0315), 5
# With this factor the entries of a matrix move about as far in a step as by AdamW at the same rate.
_LIKE_ADAMW = 0.2


class OrthogonalSteps:
    """Moves `matrices` by orthogonal steps of `factor` times the rate; `others` moves all other weights."""

    def __init__(self, matrices: list[nn.Parameter], rate: float | Tensor, factor: float, others: AdamW) -> None:
        self.matrices, self.factor, self.others = matrices, factor, others
        self.means = [torch.zeros_like(matrix) for matrix in matrices]
        self.group: dict[str, Any] = {"params": matrices, "lr": rate}
        self.param_groups = [*others.param_groups, self.group]
        self.first = sum(len(group["params"]) for group in others.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for matrix in self.matrices:
            matrix.grad = None
        self.others.zero_grad(set_to_none=set_to_none)

    @torch.no_grad()
    def step(self) -> None:
        """Move every weight that has a gradient."""
        self.others.step()
        moved = [number for number, matrix in enumerate(self.matrices) if matrix.grad is not None]
        by_sides: dict[tuple[int, ...], list[int]] = {}
        for number in moved:
            by_sides.setdefault(tuple(sorted(self.matrices[number].shape)), []).append(number)
        for sides, numbers in by_sides.items():
            steps_NIO = orthogonal(torch.stack([self._direction(number) for number in numbers]))
            steps_NIO = steps_NIO * (self.group["lr"] * (self.factor * _LIKE_ADAMW * sides[1] ** 0.5))
            for number, step_IO in zip(numbers, steps_NIO, strict=True):
                matrix = self.matrices[number]
                matrix.sub_(step_IO if _is_wide(matrix) else step_IO.T)

    def _direction(self, number: int) -> Tensor:
        """The averaged gradient, a little ahead of the average (Nesterov), lying down, (I, O)."""
        matrix, mean = self.matrices[number], self.means[number]
        assert matrix.grad is not None
        mean.lerp_(matrix.grad, 1 - _MOMENTUM)
        direction = matrix.grad.lerp(mean, _MOMENTUM)
        return direction if _is_wide(matrix) else direction.T

    def state_dict(self) -> dict[str, Any]:
        """The state of each weight, by its number; the matrices come last."""
        others = self.others.state_dict()
        means = {self.first + number: {"mean": mean} for number, mean in enumerate(self.means)}
        return others | {"state": others["state"] | means}

    def load_state_dict(self, stored: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        state = dict(stored["state"])
        for number, mean in enumerate(self.means):
            mean.copy_(state.pop(self.first + number)["mean"])
        self.others.load_state_dict(stored | {"state": state})


def orthogonal(matrices_NIO: Tensor) -> Tensor:
    """The same matrices with singular values near one."""
    a, b, c = _POLYNOMIAL
    x_NIO: Tensor = matrices_NIO / matrices_NIO.norm(dim=(1, 2), keepdim=True).clamp_min(1e-12)
    if matrices_NIO.device.type != "cpu" or has_half_products():
        x_NIO = x_NIO.bfloat16()
    for _ in range(_ROUNDS):
        square_NII = x_NIO @ x_NIO.mT
        square_NII = torch.baddbmm(square_NII, square_NII, square_NII, beta=b, alpha=c)
        x_NIO = torch.baddbmm(x_NIO, square_NII, x_NIO, beta=a)
    return x_NIO.float()


def _is_wide(matrix: Tensor) -> bool:
    return matrix.shape[0] <= matrix.shape[1]


Optimiser = AdamW | OrthogonalSteps
