"""Figure 2: the expected surprise of the target bit of noisy copies, over the mixture r and the mask rate.

Rows come from r q0 + (1 - r) q': under q' the target bit contradicts its copy. Cells are hidden at the mask rate, the
target always. The kernel, the network and the oracle answer the same views. The expectation over a mixture is the
mixture of the two expectations, so only those are sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from maskdiff.bench.figures.pictures import figure_of, save
from maskdiff.codes import BoolArray, FloatArray
from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.detectors import TableDetector
from maskdiff.masking import as_rows
from maskdiff.progress import Callback, Progress, listening

RATES = tuple(np.linspace(0.05, 0.95, 19).round(2).tolist())
MIXTURES = tuple(np.linspace(0, 1, 21).round(2).tolist())
TARGET = 0
_AT_ONCE = 500

# log p of the target bit, given rows and which of their bits are hidden, shape (B,)
Answer = Callable[[pd.DataFrame, BoolArray], FloatArray]


def measure(
    *,
    n_train: int = 5000,
    n_test: int = 2000,
    rates: Sequence[float] = RATES,
    seed: int = 0,
    device: str = "auto",
    progress: bool | Callback | None = None,
) -> pd.DataFrame:
    """Expected surprise in nats: reconstructor, mask_rate, mixture, surprise."""
    normal, _ = make_noisy_copies(n_train, seed)
    tests = {r: make_noisy_copies(n_test, seed + 1, mixture=r, target=TARGET)[0] for r in (1.0, 0.0)}
    lines = []
    with listening(progress) as callback:
        answers = {
            "kernel": _answer_of(_fitted("kernel", normal, seed, device, callback)),
            "mlp": _answer_of(_fitted("mlp", normal, seed, device, callback)),
            "oracle": _oracle,
        }
        for done, rate in enumerate(rates, start=1):
            hidden = np.random.default_rng((seed, done)).random((n_test, normal.shape[1])) < rate
            hidden[:, TARGET] = True
            for name, answer in answers.items():
                of_normal, of_odd = (-answer(tests[r], hidden).mean() for r in (1.0, 0.0))
                lines += [(name, rate, r, r * of_normal + (1 - r) * of_odd) for r in MIXTURES]
            if callback is not None:
                callback(Progress("measuring", done, len(rates)))
    return pd.DataFrame(lines, columns=["reconstructor", "mask_rate", "mixture", "surprise"])


def _fitted(name: str, normal: pd.DataFrame, seed: int, device: str, callback: Callback | None) -> TableDetector:
    progress = False if callback is None else callback
    return TableDetector(name, preset="paper", seed=seed, device=device, progress=progress).fit(normal)


def _answer_of(detector: TableDetector) -> Answer:
    def answer(rows: pd.DataFrame, hidden: BoolArray) -> FloatArray:
        codes, device = detector.encoder_.encode(rows), detector.torch_device()
        parts = []
        for at in range(0, len(rows), _AT_ONCE):
            here = np.arange(at, min(at + _AT_ONCE, len(rows)))
            masks = torch.from_numpy(hidden[here]).unsqueeze(1).to(device)
            rate = masks.float().mean(dim=2)
            views = as_rows(codes.take(here), device=device).views(masks, rate)
            with torch.no_grad():
                parts.append(detector.reconstructor_.log_prob(views)[:, 0, TARGET].double().cpu().numpy())
        return np.concatenate(parts)

    return answer


def _oracle(rows: pd.DataFrame, hidden: BoolArray) -> FloatArray:
    values = rows.to_numpy(dtype=np.int64)
    return NoisyCopiesOracle(values.shape[1]).log_prob(values, ~hidden)[:, TARGET]


def draw(table: pd.DataFrame, path: Path) -> None:
    """One heat map per reconstructor, on one scale."""
    names = table["reconstructor"].unique()
    figure, axes = figure_of(1, len(names), size=(4 * len(names), 3.6))
    low, high = 0.0, float(table["surprise"].max())
    for axis, name in zip(axes.flat, names, strict=True):
        grid = table[table["reconstructor"] == name].pivot(index="mask_rate", columns="mixture", values="surprise")
        edges = (grid.columns.min(), grid.columns.max(), grid.index.min(), grid.index.max())
        image = axis.imshow(grid, origin="lower", extent=edges, aspect="auto", vmin=low, vmax=high, cmap="viridis")
        steps = np.arange(0.3, high, 0.3)
        lines = axis.contour(grid.columns, grid.index, grid, levels=steps, colors="white", linewidths=0.6)
        axis.clabel(lines, fontsize=7, fmt="%.1f")
        axis.set(title=name, xlabel="mixture r (1: all normal)")
    axes.flat[0].set_ylabel("mask rate")
    figure.colorbar(image, ax=axes, label="expected surprise of the target bit, nats")
    save(figure, path)
