"""How far two samples of categories are apart, and how much of that chance alone explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray

# A total variation distance from here on is strong drift: the promised false-alarm rate may no longer hold.
STRONG = 0.25
# New values are counted by name until there are too many; then only the most frequent so far are kept.
MAX_NEW, NEW_KEPT = 10_000, 1_000
# The chi-square approximation needs at least this many expected rows in each category.
MIN_EXPECTED = 5


@dataclass(frozen=True)
class Change:
    """One category's share among the normal rows and among the scored rows."""

    label: str
    before: float
    now: float


def total_variation(before: FloatArray, now: FloatArray) -> float:
    """The largest difference in share that any set of categories has.

    >>> round(total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.3, 0.2])), 3)
    0.2
    """
    return 0.5 * float(np.abs(before - now).sum())


def distance_by_chance(learned: NDArray[np.int64], scored: NDArray[np.int64]) -> float:
    """The approximate mean distance of two samples of these sizes without drift.

    Each share differs by a normal error of variance p (1 - p) (1/n + 1/m), whose mean absolute value is sqrt(2 / pi)
    of its standard deviation.
    """
    n, m = int(learned.sum()), int(scored.sum())
    if not n or not m:
        return 0.0
    p = (learned + scored) / (n + m)
    return 0.5 * float(np.sqrt(2 / np.pi * p * (1 - p) * (1 / n + 1 / m)).sum())


def homogeneity_p_value(learned: NDArray[np.int64], scored: NDArray[np.int64]) -> float:
    """The p-value of a chi-square test of homogeneity; categories with few expected rows are merged.

    >>> round(homogeneity_p_value(np.array([60, 40, 0]), np.array([40, 60, 0])), 4)
    0.0047
    """
    from scipy.stats import chi2

    counts = np.stack([learned, scored])
    rows, total = counts.sum(axis=1, keepdims=True), counts.sum()
    if not rows.all():
        return 1.0
    few = rows.min() * counts.sum(axis=0) / total < MIN_EXPECTED
    counts = np.column_stack([counts[:, ~few], counts[:, few].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = rows * counts.sum(axis=0) / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, counts.shape[1] - 1)) if counts.shape[1] > 1 else 1.0


def unseen_p_value(field: Field, scored: NDArray[np.int64]) -> float:
    """The probability of at least this many unseen values where each row has one with the probability learned."""
    from scipy.stats import binom

    return float(binom.sf(scored[-1] - 1, scored.sum(), field.unseen_mass))
