"""Figure 3 and the appendix: ROC-AUC when rows are probed at a single level, with K views, and at all levels."""

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
    """ROC-AUC in percent of the paper's network: set, level (or "all"), views, roc_auc.

    One training per set; of the test rows, which come shuffled, `n_test` are probed, all unless given.
    """
    grids: list[tuple[float | str, int]] = [*product(levels, views), (ALL, max(views))]
    lines = []
    with listening(progress) as callback:
        for name in table_names(sets):
            split = cut_table(load_set(name, data), seed)
            listener = False if callback is None else callback
            detector = TableDetector("mlp", preset="paper", seed=seed, device=device, progress=listener)
            detector.fit(split.normal)
            codes, y = detector.encoder_.encode(split.unlabelled[:n_test]), split.y[:n_test]
            for done, (level, k) in enumerate(grids, start=1):
                grid = ProbeGrid(tuple(levels) if level == ALL else (float(level),), k, "independent", "zero")
                score = _scores(detector, codes, grid)
                lines.append((name, level, k, 100 * float(roc_auc_score(y, score))))
                if callback is not None:
                    callback(Progress(f"probing {name}", done, len(grids)))
    return pd.DataFrame(lines, columns=["set", "level", "views", "roc_auc"])


def _scores(detector: TableDetector, codes: Any, grid: ProbeGrid) -> Any:
    cells = detector.masked_surprise(detector.reconstructor_, grid).cells(codes, stage="scoring")
    return cells.contributions("mean").sum(axis=1)


def draw(table: pd.DataFrame, path: Path) -> None:
    """One curve per number of views; all levels together as a dashed line."""
    names = table["set"].unique()
    figure, axes = figure_of(1, len(names), size=(4 * len(names), 3.4))
    for axis, name in zip(axes.flat, names, strict=True):
        of_set = table[table["set"] == name]
        single = of_set[of_set["level"] != ALL]
        curves = list(single.groupby("views"))
        for shade, (k, curve) in zip(np.linspace(0.8, 0.0, len(curves)), curves, strict=True):
            axis.plot(curve["level"].astype(float), curve["roc_auc"], "o-", ms=3, color=str(shade), label=f"K = {k}")
        together = of_set[of_set["level"] == ALL].iloc[0]
        label = f"all levels, K = {together['views']}"
        axis.axhline(together["roc_auc"], linestyle="--", color="tab:red", label=label)
        axis.set(title=name, xlabel="level (mask rate)")
    axes.flat[0].set_ylabel("ROC-AUC, percent")
    axes.flat[0].legend(fontsize=8, frameon=False)
    save(figure, path)
