"""The paper's equations 1 to 8 in plain loops, for comparison only.

A row is a list of codes, a masked view a list of booleans (True = hidden), `log_prob(j, view)` the log-probability of
row's true code j. Nothing here is shared with the library: no tensors, no layout, no tricks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product

Row = Sequence[int]
View = Sequence[bool]
LogProb = Callable[[int, View], float]


def forward_probability(view: View, alpha: float) -> float:
    """Eq. 1 and 3: the probability that exactly these cells are hidden when each stays visible with `alpha`."""
    probability = 1.0
    for hidden in view:
        probability *= (1 - alpha) if hidden else alpha
    return probability


def all_views(n_fields: int) -> list[View]:
    """Every masked view of a row."""
    return list(product((False, True), repeat=n_fields))


def mixture_probability(view: View, alphas: Sequence[float]) -> float:
    """Eq. 4: the probability of a view whose level is drawn evenly."""
    return sum(forward_probability(view, alpha) for alpha in alphas) / len(alphas)


def view_surprise(view: View, log_prob: LogProb) -> float:
    """Eq. 5: the mean surprise of the hidden cells."""
    hidden = [j for j in range(len(view)) if view[j]]
    total = 0.0
    for j in hidden:
        total -= log_prob(j, view)
    return total / max(len(hidden), 1)


def row_score(views: Iterable[View], log_prob: LogProb, *, skip_empty: bool) -> float:
    """Eq. 6: the mean over views; one that hides nothing counts as zero, or is left out."""
    surprises = [view_surprise(view, log_prob) for view in views if any(view) or not skip_empty]
    return sum(surprises) / len(surprises) if surprises else 0.0


def expected_score(alphas: Sequence[float], n_fields: int, log_prob: LogProb, *, skip_empty: bool) -> float:
    """Eq. 6 with infinitely many views: the expectation over the views of every level."""
    total, mass = 0.0, 0.0
    for view in all_views(n_fields):
        if skip_empty and not any(view):
            continue
        probability = mixture_probability(view, alphas)
        total += probability * view_surprise(view, log_prob)
        mass += probability
    return total / mass


def cell_contributions(views: Sequence[View], log_prob: LogProb, *, skip_empty: bool) -> list[float]:
    """Eq. 6 told apart by cell: each hidden cell brings its surprise over the number of hidden cells."""
    counted = [view for view in views if any(view) or not skip_empty]
    contributions = [0.0] * len(views[0])
    for view in counted:
        for j in range(len(view)):
            if view[j]:
                contributions[j] -= log_prob(j, view) / sum(view) / len(counted)
    return contributions


def kernel_probability(
    references: Sequence[Row], row: Row, j: int, code: int, visible: View, bandwidth: float
) -> float:
    """Eq. 7: the weighted share of the reference rows that hold `code` in field j."""
    votes, total = 0.0, 0.0
    for reference in references:
        distance = 0
        for r in range(len(row)):
            if visible[r] and reference[r] != row[r]:
                distance += 1
        weight = math.exp(-bandwidth * distance)
        total += weight
        if reference[j] == code:
            votes += weight
    return votes / total


def reconstruction_loss(log_probs: Sequence[Sequence[float]], views: Sequence[View]) -> float:
    """Eq. 8 on one view per row: the mean over views of the mean surprise of their hidden cells."""
    total = 0.0
    for row, view in zip(log_probs, views, strict=True):
        hidden = [j for j in range(len(view)) if view[j]]
        total -= sum(row[j] for j in hidden) / max(len(hidden), 1)
    return total / len(views)


def diffusion_loss(log_probs: Sequence[Sequence[float]], views: Sequence[View], weights: Sequence[float]) -> float:
    """Eq. 2 on one view per row: the mean over views of w(t) times the summed log-probability, w(t) negative."""
    total = 0.0
    for row, view, weight in zip(log_probs, views, weights, strict=True):
        for j in range(len(view)):
            if view[j]:
                total += weight * row[j]
    return total / len(views)
