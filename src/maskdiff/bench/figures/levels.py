"""Figure 3 and the appendix: ROC-AUC when rows are probed at a single level, with K views, and at all levels.

For networks trained with either of the two losses, Eq. 8 and Eq. 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from maskdiff.bench.figures.pictures import figure_of, save
from maskdiff.bench.runs.sets import cut_table, load_set, table_names
from maskdiff.detectors import TableDetector
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.progress import Callback, Progress, listening

SETS = ("claims", "u2r", "bank")
VIEWS = (1, 2, 4, 8, 16)
LOSSES = {"reconstruction": "Eq. 8", "diffusion": "Eq. 2"}
ALL = "all"


def measure(
    *,
    data: str | None = None,
    sets: Sequence[str] = SETS,
    levels: Sequence[float] = PAPER_LEVELS,
    views: Sequence[int] = VIEWS,
    n_test: int | None = None,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Callback | None = None,
) -> pd.DataFrame:
    """ROC-AUC in percent of the paper's network: set, loss, level (or "all"), views, roc_auc.

    One training per set and loss; of the test rows, which come shuffled, `n_test` are probed, all unless given.
    """
    probed: list[float | str] = [*levels, ALL]
    grids = list(product(probed, views))
    lines = []
    with listening(progress) as callback:
        for name, loss in product(table_names(sets), LOSSES):
            split = cut_table(load_set(name, data), seed)
            listener = False if callback is None else callback
            detector = TableDetector(
                "mlp", preset="paper", objective=loss, seed=seed, device=device, progress=listener
            ).fit(split.normal)
            codes, y = detector.encoder_.encode(split.unlabelled[:n_test]), split.y[:n_test]
            for done, (level, k) in enumerate(grids, start=1):
                grid = ProbeGrid(tuple(levels) if level == ALL else (float(level),), k, "independent", "zero")
                score = _scores(detector, codes, grid)
                lines.append((name, loss, level, k, 100 * float(roc_auc_score(y, score))))
                if callback is not None:
                    callback(Progress(f"probing {name}", done, len(grids)))
    return pd.DataFrame(lines, columns=["set", "loss", "level", "views", "roc_auc"])


def _scores(detector: TableDetector, codes: Any, grid: ProbeGrid) -> Any:
    cells = detector.masked_surprise(detector.reconstructor_, grid).cells(codes, stage="scoring")
    return cells.contributions("mean").sum(axis=1)


def draw(table: pd.DataFrame, path: Path) -> None:
    """A row of pictures per loss, with one curve per number of views; all levels together as a dashed line."""
    names, losses = table["set"].unique(), table["loss"].unique()
    figure, axes = figure_of(len(losses), len(names), size=(4 * len(names), 3.2 * len(losses)))
    for axis, (loss, name) in zip(axes.flat, product(losses, names), strict=True):
        of_set = table[(table["set"] == name) & (table["loss"] == loss)]
        single = of_set[of_set["level"] != ALL]
        curves = list(single.groupby("views"))
        for shade, (k, curve) in zip(np.linspace(0.8, 0.0, len(curves)), curves, strict=True):
            axis.plot(curve["level"].astype(float), curve["roc_auc"], "o-", ms=3, color=str(shade), label=f"K = {k}")
        together = of_set[of_set["level"] == ALL].iloc[-1]
        label = f"all levels, K = {together['views']}"
        axis.axhline(together["roc_auc"], linestyle="--", color="tab:red", label=label)
        axis.set(title=f"{name}, {LOSSES[loss]}", xlabel="level (mask rate)")
    for axis in axes[:, 0]:
        axis.set_ylabel("ROC-AUC, percent")
    axes.flat[0].legend(fontsize=8, frameon=False)
    save(figure, path)
