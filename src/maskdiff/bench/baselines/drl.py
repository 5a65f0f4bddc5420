"""DRL: decomposed representation learning (Ye et al., "DRL: Decomposed representation learning for tabular anomaly
detection", 2025).

A row's representation is to be a weighted sum of a few fixed orthogonal directions, the weights read from the row by
a second network. That can be learnt for normal rows only; what is left over of the others' representation is the score.
B rows, W columns, Z features, D directions.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer, layers, leaky
from maskdiff.progress import Callback

FITTING = Fitting(epochs=200, batch_size=512, learning_rate=0.05, weight_decay=1e-5, decay=0.98)
HIDDEN = 128
DIRECTIONS = 5
ALIGNMENT = 0.1
SEPARATION = 0.06


class Decomposition(Scorer):
    """Encoder, weights and decoder, without biases, around directions that are drawn once and never trained."""

    directions_DZ: Tensor

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.register_buffer("directions_DZ", orthogonal(DIRECTIONS, HIDDEN))
        self.encode = nn.Sequential(layers(n_columns, HIDDEN, HIDDEN, activation=leaky, bias=False), leaky())
        self.weigh = layers(n_columns, HIDDEN, DIRECTIONS, activation=leaky, bias=False)
        self.decode = nn.Linear(HIDDEN, n_columns, bias=False)

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        features_BZ = self.encode(rows_BW)
        weights_BD = self.weigh(rows_BW)
        left_over_B = (features_BZ - weights_BD @ self.directions_DZ).square().sum(dim=1)
        # Relative to the features' length as well, or shrinking them all to nothing would be the best answer.
        relative_B = left_over_B / features_BZ.square().sum(dim=1).clamp_min(1e-12)
        misaligned_B = 1 - functional.cosine_similarity(self.decode(features_BZ), rows_BW, dim=1)
        each_B = torch.maximum(left_over_B, relative_B) + ALIGNMENT * misaligned_B
        return share_B @ each_B + SEPARATION * crowding(weights_BD, share_B)

    def score(self, rows_BW: Tensor) -> Tensor:
        left_over_BZ: Tensor = self.encode(rows_BW) - self.weigh(rows_BW) @ self.directions_DZ
        return left_over_BZ.square().sum(dim=1)


def orthogonal(n_directions: int, n_features: int) -> Tensor:
    """Random unit vectors at right angles to each other, shape (D, Z)."""
    return nn.init.orthogonal_(torch.empty(n_directions, n_features))


def crowding(weights_BD: Tensor, share_B: Tensor) -> Tensor:
    """Mean cosine between the weights of any two rows; normal rows are to spread out."""
    # The mean of all products of two is the square of the mean: no table of pairs is needed.
    return (share_B @ functional.normalize(weights_BD, dim=1)).square().sum()


def decomposition(
    *, fitting: Fitting = FITTING, seed: int = 0, device: str = "auto", callback: Callback | None = None
) -> NetworkDetector:
    """DRL with five orthogonal directions."""
    return NetworkDetector(lambda n, width: Decomposition(width), fitting, seed=seed, device=device, callback=callback)
