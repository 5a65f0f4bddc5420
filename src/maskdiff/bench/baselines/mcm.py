"""MCM: masked cell modelling (Yin et al., "MCM: Masked cell modeling for anomaly detection in tabular data", 2024).

Several small networks look at a row and each proposes a soft mask; an autoencoder restores the row from every masked
copy. The masks learn to leave what normal rows can be restored from, a diversity loss keeps them apart, and a row that
is restored badly is odd. B rows, M masks, W columns.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer, layers, leaky
from maskdiff.progress import Callback

FITTING = Fitting(epochs=200, batch_size=512, learning_rate=0.05, weight_decay=1e-5, decay=0.98)
MASKS = 15
MASK_LAYERS = 3
HIDDEN = 256
FEATURES = 128
DIVERSITY = 5.0
TEMPERATURE = 0.1


class MaskedCells(Scorer):
    """Mask networks and the autoencoder behind them, trained together; no layer has a bias."""

    def __init__(self, n_columns: int, n_masks: int = MASKS) -> None:
        super().__init__()
        # All mask networks at once: one weight matrix per mask and layer.
        shape = (n_masks, n_columns, n_columns)
        bound = n_columns**-0.5
        self.mask_layers = nn.ParameterList(torch.empty(shape).uniform_(-bound, bound) for _ in range(MASK_LAYERS))
        self.encode = layers(n_columns, HIDDEN, HIDDEN, FEATURES, activation=leaky, bias=False)
        self.decode = layers(FEATURES, HIDDEN, HIDDEN, n_columns, activation=leaky, bias=False)

    def masks(self, rows_BW: Tensor) -> Tensor:
        """What each mask network says of each cell, before the sigmoid makes a mask of it, shape (B, M, W)."""
        first, *others = self.mask_layers
        hidden_MBW: Tensor = rows_BW @ first
        for weights in others:
            hidden_MBW = hidden_MBW.relu() @ weights
        return hidden_MBW.transpose(0, 1)

    def errors(self, rows_BW: Tensor, masks_BMW: Tensor) -> Tensor:
        """How far each restored copy is from the row, shape (B, M)."""
        restored_BMW: Tensor = self.decode(self.encode(masks_BMW.sigmoid() * rows_BW[:, None]))
        error_BM: Tensor = (restored_BMW - rows_BW[:, None]).norm(dim=2)
        return error_BM

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        masks_BMW = self.masks(rows_BW)
        return share_B @ (self.errors(rows_BW, masks_BMW).mean(dim=1) + DIVERSITY * likeness(masks_BMW))

    def score(self, rows_BW: Tensor) -> Tensor:
        return self.errors(rows_BW, self.masks(rows_BW)).mean(dim=1)


def likeness(masks_BMW: Tensor) -> Tensor:
    """How much the masks of each row resemble each other, shape (B,); small where they are diverse."""
    n_masks = masks_BMW.shape[1]
    unit_BMW = functional.normalize(masks_BMW, dim=2)
    cosine_BMM = unit_BMW @ unit_BMW.transpose(1, 2) / TEMPERATURE
    same_MM = torch.eye(n_masks, dtype=torch.bool, device=masks_BMW.device)
    others = n_masks - 1
    return cosine_BMM.masked_fill(same_MM, -torch.inf).logsumexp(dim=2).sum(dim=1) / (others * math.log(others))


def masked_cells(
    *,
    n_masks: int = MASKS,
    fitting: Fitting = FITTING,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> NetworkDetector:
    """MCM with `n_masks` learned masks, three at least."""
    return NetworkDetector(
        lambda n, width: MaskedCells(width, n_masks), fitting, seed=seed, device=device, callback=callback
    )
