"""Which average ranks differ by more than chance: Nemenyi's critical difference.

Two methods ranked on the same sets differ if their average ranks are further apart than the critical difference
(Demšar 2006). It takes the sets for independent samples and says nothing of how much better a method is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        """The longest runs of methods that cannot be distinguished, each from its best to its worst rank.

        >>> Diagram(pd.Series({"a": 1.0, "b": 1.6, "c": 5.4}), 10).alike()
        [(1.0, 1.6)]
        """
        ordered, apart = sorted(self.ranks), self.critical_difference
        reach = [max(rank for rank in ordered if rank - first <= apart) for first in ordered]
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
