"""Which average ranks differ by more than chance: Nemenyi's critical difference, and its picture.

Two methods ranked on the same sets differ if their average ranks are further apart than the critical difference
(Demšar 2006). It takes the sets for independent samples and says nothing of how much better a method is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Diagram:
    """Average ranks by method over `n_sets` sets."""

    ranks: pd.Series[float]
    n_sets: int

    @property
    def critical_difference(self) -> float:
        """How far apart two average ranks must be."""
        return critical_difference(len(self.ranks), self.n_sets)

    def alike(self) -> list[tuple[float, float]]:
        """The longest runs of methods that cannot be told apart, each from its best to its worst rank.

        >>> Diagram(pd.Series({"a": 1.0, "b": 1.6, "c": 5.4}), 10).alike()
        [(1.0, 1.6)]
        """
        ordered = sorted(self.ranks)
        reach = [max(rank for rank in ordered if rank - first <= self.critical_difference) for first in ordered]
        runs = zip(ordered, reach, strict=True)
        longest = [(first, last) for i, (first, last) in enumerate(runs) if last > first and last not in reach[:i]]
        return longest


def critical_difference(n_methods: int, n_sets: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of average ranks.

    >>> round(critical_difference(5, 30), 3)  # q = 2.728 in the usual table
    1.114
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - level, n_methods, math.inf)) / math.sqrt(2)
    return q * math.sqrt(n_methods * (n_methods + 1) / (6 * n_sets))


def draw(diagrams: Mapping[str, Diagram], path: str | Path) -> None:
    """One diagram above the other: a scale of ranks, every method at its own, bars over those that are alike."""
    from maskdiff.bench.pictures import figure_of, save

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
