"""Diffusion time estimation (Livernoche et al., "On diffusion modeling for anomaly detection", 2024).

Gaussian noise is added to normal rows at a random time; a network is shown the noisy row and says how long it was
diffused. A row that looks as if it had been diffused for long is far from the normal ones. The three variants differ
in what the network says about the time: its bin, the scale of its inverse-gamma posterior, or its mean.

As in the authors' public code, which the published figures agree with, columns are standardised first: the noise is as
large as a column's own spread, and a rare value stands out of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer
from maskdiff.progress import Callback

FITTING = Fitting(epochs=100, batch_size=128, learning_rate=1e-4, weight_decay=5e-4)
HIDDEN = (256, 512, 256)
STEPS = 400
BINS = 7
DROPOUT = 0.5


def noise_variance(steps: int = STEPS) -> Tensor:
    """Variance of the noise at each time step, 1 - prod(1 - beta), beta rising from 1e-4 to 1e-2, shape (steps,)."""
    return 1 - torch.cumprod(1 - torch.linspace(1e-4, 1e-2, steps), dim=0)


def time_bin(time_B: Tensor, steps: int = STEPS, bins: int = BINS) -> Tensor:
    """The bin of each time step, all bins equally wide.

    >>> time_bin(torch.tensor([0, 57, 58, 399]))
    tensor([0, 0, 1, 6])
    """
    return time_B * bins // steps


class TimeNetwork(Scorer):
    """What the variants share: how rows are noised, and the network that looks at them."""

    equal_rows_once = False
    steps: ClassVar[int] = STEPS
    fitting: ClassVar[Fitting] = FITTING
    noise_T: Tensor

    def __init__(self, n_columns: int, n_outputs: int) -> None:
        super().__init__()
        first, second, third = HIDDEN
        self.read = nn.Sequential(
            *(nn.Linear(n_columns, first), nn.ReLU()),
            *(nn.Linear(first, second), nn.ReLU(), nn.Dropout(DROPOUT)),
            *(nn.Linear(second, third), nn.ReLU(), nn.Dropout(DROPOUT)),
            nn.Linear(third, n_outputs),
        )
        self.register_buffer("noise_T", noise_variance(self.steps))

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        device = rows_BW.device
        time_B = torch.randint(self.steps, (len(rows_BW),), generator=generator, device=device)
        noise_BW = torch.randn(rows_BW.shape, generator=generator, device=device)
        said: Tensor = self.read(rows_BW + self.noise_T[time_B, None].sqrt() * noise_BW)
        return share_B @ self.time_loss(said, time_B, rows_BW.shape[1])

    def time_loss(self, said: Tensor, time_B: Tensor, n_columns: int) -> Tensor:
        """How badly what the network said fits the true time of each row, shape (B,)."""
        raise NotImplementedError


class TimeBins(TimeNetwork):
    """DTE-Categorical: a distribution over bins of time; the score is the expected bin."""

    def __init__(self, n_columns: int) -> None:
        super().__init__(n_columns, BINS)

    def time_loss(self, said: Tensor, time_B: Tensor, n_columns: int) -> Tensor:
        # The authors' public code takes chances for logits here, which keeps the network from ever being sure.
        chance_BT = said.softmax(dim=1)
        return functional.cross_entropy(chance_BT, time_bin(time_B), reduction="none")

    def score(self, rows_BW: Tensor) -> Tensor:
        bins = torch.arange(BINS, device=rows_BW.device, dtype=torch.float32)
        chance_BT: Tensor = self.read(rows_BW).softmax(dim=1)
        return chance_BT @ bins


class TimeScale(TimeNetwork):
    """DTE-InvGamma: the scale b of the inverse-gamma posterior of the noise variance, whose shape is W/2 - 1.

    The authors give it fewer steps than the others, and no weight decay.
    """

    steps = 300
    fitting = replace(FITTING, weight_decay=0.0)

    def __init__(self, n_columns: int) -> None:
        super().__init__(n_columns, 1)

    def time_loss(self, said: Tensor, time_B: Tensor, n_columns: int) -> Tensor:
        return scale_loss(said.squeeze(1).square(), self.noise_T[time_B], n_columns)

    def score(self, rows_BW: Tensor) -> Tensor:
        # The loss knows the root by its square alone: its sign is chance, and must not order the rows.
        root_B: Tensor = self.read(rows_BW).squeeze(1)
        return root_B.square()


def scale_loss(scale_B: Tensor, variance_B: Tensor, n_columns: int) -> Tensor:
    """Negative log-likelihood of the variances under inverse gammas of these scales, constants left out."""
    # Below three columns the posterior cannot be normalised; the nearest shape that can be is taken.
    shape = max(n_columns / 2 - 1, 0.5)
    return scale_B / variance_B - shape * torch.log(scale_B + 1e-5)


class TimeMean(TimeNetwork):
    """DTE-Gaussian: the mean of the time step, by least squares; the mean is the score."""

    def __init__(self, n_columns: int) -> None:
        super().__init__(n_columns, 1)

    def time_loss(self, said: Tensor, time_B: Tensor, n_columns: int) -> Tensor:
        return (said.squeeze(1) - time_B).square()

    def score(self, rows_BW: Tensor) -> Tensor:
        mean_B: Tensor = self.read(rows_BW).squeeze(1)
        return mean_B


VARIANTS: dict[str, type[TimeBins | TimeScale | TimeMean]] = {
    "categorical": TimeBins,
    "inverse-gamma": TimeScale,
    "gaussian": TimeMean,
}


def diffusion_time(
    variant: str,
    *,
    fitting: Fitting | None = None,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> NetworkDetector:
    """DTE with the time described by "categorical" bins, an "inverse-gamma" posterior or a "gaussian" mean."""
    network = VARIANTS[variant]
    return NetworkDetector(
        lambda n, width: network(width),
        fitting or network.fitting,
        standardise=True,
        seed=seed,
        device=device,
        callback=callback,
    )
