"""GOAD: classification of random transformations (Bergman & Hoshen, "Classification-based anomaly detection for general
data", 2020).

Every row is sent through the same random linear maps. The features a network learns of the maps' outputs lie close to
the centre of their own map and far from the others', for normal rows; a row whose maps are confused is odd.
B rows, M maps, W columns, P outputs of a map, Z features.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer, layers, leaky
from maskdiff.progress import Callback

FITTING = Fitting(epochs=100, batch_size=64, learning_rate=1e-3, momentum=0.5)
MAPS = 256
OUTPUTS = 32
FEATURES = 8
LAYERS = 5
MARGIN = 1.0
CENTRE_WEIGHT = 0.1


class MapClassifier(Scorer):
    """Features of each transformed row, trained by a triplet loss to the maps' centres and by naming the map."""

    maps_WMP: Tensor
    centres_MZ: Tensor

    def __init__(self, n_columns: int, n_maps: int = MAPS) -> None:
        super().__init__()
        self.n_maps = n_maps
        self.register_buffer("maps_WMP", torch.randn(n_columns, n_maps, OUTPUTS))
        self.register_buffer("centres_MZ", torch.zeros(n_maps, FEATURES))
        self.features = layers(OUTPUTS, *[FEATURES] * LAYERS, activation=leaky, bias=False)
        self.name = nn.Sequential(leaky(), nn.Linear(FEATURES, n_maps))
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_normal_(module.weight, gain=2**0.5)

    def look(self, rows_BW: Tensor) -> Tensor:
        """Features of every row under every map, shape (B, M, Z)."""
        features: Tensor = self.features((rows_BW @ self.maps_WMP.flatten(1)).unflatten(1, (self.n_maps, OUTPUTS)))
        return features

    def loss(self, rows_BW: Tensor, *, generator: Generator) -> Tensor:
        features_BMZ = self.look(rows_BW)
        true_BM = torch.arange(self.n_maps, device=rows_BW.device).expand(len(rows_BW), -1)
        naming = functional.cross_entropy(self.name(features_BMZ).transpose(1, 2), true_BM)
        return CENTRE_WEIGHT * centre_loss(features_BMZ) + naming

    def settle(self, batches: Sequence[Tensor]) -> None:
        n_rows = sum(len(batch) for batch in batches)
        totals = [self.look(batch).double().sum(dim=0) for batch in batches]
        self.centres_MZ = (torch.stack(totals).sum(dim=0) / n_rows).float()

    def score(self, rows_BW: Tensor) -> Tensor:
        distance_BMM = squared_distance(self.look(rows_BW), self.centres_MZ)
        own_BM = (-distance_BMM).log_softmax(dim=2).diagonal(dim1=1, dim2=2)
        return -own_BM.sum(dim=1)


def squared_distance(features_BMZ: Tensor, centres_MZ: Tensor) -> Tensor:
    """From every feature to every centre, shape (B, M, M)."""
    lengths = features_BMZ.square().sum(dim=2, keepdim=True) + centres_MZ.square().sum(dim=1)
    return (lengths - 2 * features_BMZ @ centres_MZ.T).clamp_min(0)


def centre_loss(features_BMZ: Tensor) -> Tensor:
    """How far the own centre is from being nearer than any other by the margin; centres are the batch's means."""
    distance_BMM = squared_distance(features_BMZ, features_BMZ.mean(dim=0))
    own_BM = distance_BMM.diagonal(dim1=1, dim2=2)
    same_MM = torch.eye(distance_BMM.shape[1], dtype=torch.bool, device=distance_BMM.device)
    nearest_other_BM = distance_BMM.masked_fill(same_MM, torch.inf).amin(dim=2)
    return (own_BM + MARGIN - nearest_other_BM).clamp_min(0).mean()


def transformation_classifier(
    *,
    n_maps: int = MAPS,
    fitting: Fitting = FITTING,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> NetworkDetector:
    """GOAD with `n_maps` random linear transformations."""
    return NetworkDetector(
        lambda n, width: MapClassifier(width, n_maps), fitting, seed=seed, device=device, callback=callback
    )
