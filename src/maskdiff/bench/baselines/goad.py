"""GOAD: classification of random transformations (Bergman & Hoshen, "Classification-based anomaly detection for general
data", 2020).

Every row is sent through the same random linear maps. The features a network learns of the maps' outputs are close to
the centre of their own map and far from the others', for normal rows; a row whose maps are confused is odd.
B rows, M maps, W columns, P outputs of a map, Z features.
"""

from __future__ import annotations

from collections.abc import Iterable

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

    def look(self, rows_BW: Tensor) -> Tensor:
        """Features of every row under every map, shape (B, M, Z)."""
        features: Tensor = self.features((rows_BW @ self.maps_WMP.flatten(1)).unflatten(1, (self.n_maps, OUTPUTS)))
        return features

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        features_BMZ = self.look(rows_BW)
        true_BM = torch.arange(self.n_maps, device=rows_BW.device).expand(len(rows_BW), -1)
        said = self.name(features_BMZ.flatten(0, 1))
        naming_BM = functional.cross_entropy(said, true_BM.flatten(), reduction="none").view(true_BM.shape)
        return share_B @ (CENTRE_WEIGHT * centre_loss(features_BMZ, share_B) + naming_BM).mean(dim=1)

    def settle(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        parts = [centres(self.look(rows_BW).double(), share_B.double()) for rows_BW, share_B in batches]
        self.centres_MZ = torch.stack(parts).sum(dim=0).float()

    def score(self, rows_BW: Tensor) -> Tensor:
        distance_BMM = squared_distance(self.look(rows_BW), self.centres_MZ)
        own_BM = (-distance_BMM).log_softmax(dim=2).diagonal(dim1=1, dim2=2)
        return -own_BM.sum(dim=1)


def squared_distance(features_BMZ: Tensor, centres_MZ: Tensor) -> Tensor:
    """From every feature to every centre, shape (B, M, M)."""
    lengths = features_BMZ.square().sum(dim=2, keepdim=True) + centres_MZ.square().sum(dim=1)
    return (lengths - 2 * features_BMZ @ centres_MZ.T).clamp_min(0)


def centres(features_BMZ: Tensor, share_B: Tensor) -> Tensor:
    """The mean features of each map, shape (M, Z)."""
    return (share_B @ features_BMZ.flatten(1)).view(features_BMZ.shape[1:])


def centre_loss(features_BMZ: Tensor, share_B: Tensor) -> Tensor:
    """How far the own centre is from being nearer than any other by the margin, shape (B, M).

    The centres are the means of the batch.
    """
    centres_MZ = centres(features_BMZ, share_B)
    with torch.no_grad():  # which centre is the nearest other one; its distance is all that is differentiated
        distance_BMM = squared_distance(features_BMZ, centres_MZ)
        distance_BMM.diagonal(dim1=1, dim2=2).fill_(torch.inf)
        nearest_BM = distance_BMM.argmin(dim=2)
    own_BM = (features_BMZ - centres_MZ).square().sum(dim=2)
    nearest_other_BM = (features_BMZ - centres_MZ[nearest_BM]).square().sum(dim=2)
    return (own_BM + MARGIN - nearest_other_BM).clamp_min(0)


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
