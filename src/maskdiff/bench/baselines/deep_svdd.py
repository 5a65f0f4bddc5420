"""Deep SVDD (Ruff et al., "Deep One-Class Classification", 2018), as the library DeepOD has it.

A network maps normal rows close to a fixed centre, the mean of what it makes of them before it is trained; how far a
row is from the centre is how odd it is. No layer has a bias, with which the network could map all rows to the centre.
The paper took DeepOD's settings; PyOD's, whose networks are others, serve for embeddings (see `pyod`).
B rows, Z features.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Generator, Tensor, nn

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer, layers
from maskdiff.progress import Callback

FITTING = Fitting(epochs=100, batch_size=64, learning_rate=1e-3)
HIDDEN = (100, 50)
FEATURES = 128
# No coordinate of the centre is closer to 0: a unit that is never active would always meet it.
LEAST = 0.1


class Hypersphere(Scorer):
    """The network and its centre."""

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.network = layers(n_columns, *HIDDEN, FEATURES, activation=nn.ReLU, bias=False)
        self.centre_Z: Tensor
        self.register_buffer("centre_Z", torch.zeros(FEATURES))

    def begin(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """The centre is the mean of the untrained network's features."""
        centre_Z = torch.stack([share_B @ self.network(rows_BW) for rows_BW, share_B in batches]).sum(dim=0)
        close = (centre_Z.abs() < LEAST) & (centre_Z != 0)
        self.centre_Z.copy_(torch.where(close, LEAST * centre_Z.sign(), centre_Z))

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        return share_B @ self.score(rows_BW)

    def score(self, rows_BW: Tensor) -> Tensor:
        distance: Tensor = (self.network(rows_BW) - self.centre_Z).square().sum(dim=1)
        return distance


def hypersphere(
    *, fitting: Fitting = FITTING, seed: int = 0, device: str = "auto", callback: Callback | None = None
) -> NetworkDetector:
    """Deep SVDD with hidden layers of 100 and 50 and 128 features."""
    return NetworkDetector(lambda n, width: Hypersphere(width), fitting, seed=seed, device=device, callback=callback)
