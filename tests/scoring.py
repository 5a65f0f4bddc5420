"""Scores of any reconstructor, and a network trained for a moment."""

from __future__ import annotations

import torch

from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.score import score_cells
from maskdiff.training import Steps, Training

CPU = torch.device("cpu")
LEVELS = (0.15, 0.4, 0.8)


def scores_of(reconstructor, codes, grid, schedule=None, aggregate="mean", **settings):
    cells = score_cells(reconstructor, codes, probes=grid, schedule=schedule or Linear(), **settings)
    return cells.contributions(aggregate).sum(axis=1)


def fit_mlp(codes, steps):
    settings = MLPReconstructor(width=64, layers=2, dropout=0.0, training=Training(Steps(steps), learning_rate=3e-3))
    return settings.fit(codes, objective=Reconstruction(LEVELS), schedule=Linear(), seed=0, device=CPU)
