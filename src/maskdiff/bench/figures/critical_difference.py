"""The critical-difference diagram: average ranks on a scale, bars over those that are no further apart than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maskdiff.bench.figures.pictures import figure_of, save
from maskdiff.bench.tables.critical_difference import LEVEL, Diagram


def draw(diagrams: Mapping[str, Diagram], path: str | Path) -> None:
    """One diagram above the other: a scale of ranks, every method at its own, bars over those that are alike."""
    height = max(2.2 + 0.24 * math.ceil(len(diagram.ranks) / 2) for diagram in diagrams.values())
    figure, axes = figure_of(len(diagrams), 1, size=(9, height * len(diagrams)))
    for axis, (title, diagram) in zip(axes.flat, diagrams.items(), strict=True):
        _draw_one(axis, title, diagram)
    save(figure, path)


def _draw_one(axis: Any, title: str, diagram: Diagram) -> None:
    ranks = diagram.ranks.sort_values()
    k, bars = len(ranks), diagram.alike()
    low, high, ceiling = 1.0, float(k), 0.5 * len(bars) + 1.0
    axis.hlines(0, low, high, color="black", linewidth=1)
    for tick in range(1, k + 1):
        axis.vlines(tick, 0, 0.2, color="black", linewidth=1)
        axis.text(tick, 0.35, str(tick), ha="center", va="bottom", fontsize=8)
    for row, (first, last) in enumerate(bars):
        axis.hlines(-0.4 - 0.5 * row, first - 0.05, last + 0.05, color="0.25", linewidth=3)
    half = math.ceil(k / 2)
    for place, (method, rank) in enumerate(ranks.items()):
        left = place < half
        depth = -(ceiling + 0.75 * (place if left else k - 1 - place))
        end = low - 0.4 if left else high + 0.4
        axis.plot([rank, rank, end], [0, depth, depth], color="0.5", linewidth=0.8)
        axis.text(end, depth, f" {method} ({rank:.2f}) ", ha="right" if left else "left", va="center", fontsize=8)
    bottom = -(ceiling + 0.75 * half)
    axis.hlines(1.7, low, low + diagram.critical_difference, color="black", linewidth=1.5)
    axis.text(low, 1.85, f"critical difference {diagram.critical_difference:.2f}", fontsize=8, va="bottom")
    axis.set(xlim=(low - 0.32 * k, high + 0.32 * k), ylim=(bottom, 3.2))
    axis.set_title(f"average rank by {title}, {diagram.n_sets} sets (Nemenyi, {LEVEL:.0%})", fontsize=10)
    axis.axis("off")
