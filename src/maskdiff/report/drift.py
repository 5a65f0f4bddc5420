"""How the columns or the tokens of the scored rows differ from those of the normal rows the model learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, Field, FloatArray
from maskdiff.encoders.table.encoder import TableEncoder

MISSING = "missing"
TOP_CHANGES = 3
# A change of less than this share of the rows is not worth a word.
LEAST_CHANGE = 0.005
# New values are remembered by name until there are too many; then only those met most often so far.
MOST_NEW, NEW_KEPT = 10_000, 1_000
# Differences that chance alone brings this often are put down to chance. Small, as there are many columns.
CHANCE = 0.001
# The chi-square approximation wants at least so many expected rows in each category.
FEWEST_EXPECTED = 5
# A token's share has changed when it moved by so many standard deviations. High, for there are thousands of tokens, and
# those of one text go together, so that they vary more than draws on their own would.
UNLIKELY, MOST_CHANGES = 6.0, 60
# The least distance of each level, in words, the largest first.
LEVELS = ((0.25, "strong"), (0.1, "clear"), (0.0, "slight"))


@dataclass(frozen=True)
class Change:
    """One category's share among the normal rows and among the scored rows."""

    label: str
    before: float
    now: float


@dataclass(frozen=True)
class ColumnDrift:
    """How far one column moved. `distance` is the total variation distance of the shares: 0 the same, 1 disjoint.

    `by_chance` is about the distance without any drift, `p_value` how often chance brings a difference like this.
    """

    name: str
    type: str
    distance: float
    by_chance: float
    p_value: float
    unseen: float
    missing: float
    missing_before: float
    changes: tuple[Change, ...]
    new_values: tuple[tuple[str, int], ...]

    @property
    def level(self) -> str:
        if self.p_value >= CHANCE:
            return "chance"
        return next(word for least, word in LEVELS if self.distance >= least)


@dataclass(frozen=True)
class TokenDrift:
    """How far the tokens moved, all together. `distance` and `by_chance` as for a column; `changes` are the tokens
    whose shares changed by more than chance, the least likely first."""

    n_tokens: int
    distance: float
    by_chance: float
    unseen: float
    changes: tuple[Change, ...]
    new: tuple[tuple[str, int], ...]

    @property
    def strong(self) -> bool:
        """Whether more than chance brings so much that the promise about false alarms may not hold."""
        return self.distance - self.by_chance >= LEVELS[0][0]


class DriftCounts:
    """Counts every code of every column, and what the unseen values were."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.encoder = encoder
        self.n_rows = 0
        self.counts: list[NDArray[np.int64]] = [np.zeros(f.size + 1, np.int64) for f in encoder.schema_]
        self.new: list[Counter[str]] = [Counter() for _ in encoder.schema_]
        self.newly_missing = [0] * len(encoder.schema_)

    def add(self, table: Any, codes: Codes) -> None:
        self.n_rows += len(codes)
        for at, field in enumerate(self.encoder.schema_):
            values = codes.values[:, at]
            self.counts[at] += np.bincount(values, minlength=field.size + 1)
            unseen = np.flatnonzero(values == field.size)
            if len(unseen):
                self._add_unseen(at, self.encoder.display(table, unseen, [at] * len(unseen)))

    def _add_unseen(self, at: int, words: list[str]) -> None:
        new = Counter(words)
        # Where the normal rows had no missing values, a missing one has the unseen code too.
        self.newly_missing[at] += new.pop(MISSING, 0)
        self.new[at] += new
        if len(self.new[at]) > MOST_NEW:
            self.new[at] = Counter(dict(self.new[at].most_common(NEW_KEPT)))

    def columns(self) -> list[ColumnDrift]:
        """Every column, the one that moved most first."""
        missing_before = {line["name"]: line["missing"] or 0.0 for line in self.encoder.summary()}
        drifts = [self._column(at, f, missing_before[f.name]) for at, f in enumerate(self.encoder.schema_)]
        return sorted(drifts, key=lambda drift: (drift.level == "chance", -drift.distance))

    def _column(self, at: int, field: Field, missing_before: float) -> ColumnDrift:
        learned = np.array([*field.counts, 0], dtype=np.int64)
        before, now = learned / learned.sum(), self.counts[at] / max(1, self.n_rows)
        # The missing code, where there is one, is the last that was learned.
        known_missing = int(self.counts[at][field.size - 1]) if missing_before else 0
        missing = known_missing + self.newly_missing[at]
        unseen = int(self.counts[at][-1]) - self.newly_missing[at]
        return ColumnDrift(
            field.name,
            field.type,
            distance=total_variation(before, now) if self.n_rows else 0.0,
            by_chance=distance_by_chance(learned, self.counts[at]),
            p_value=min(1.0, 2 * min(same_by_chance(learned, self.counts[at]), new_by_chance(field, self.counts[at]))),
            unseen=unseen / max(1, self.n_rows),
            missing=missing / max(1, self.n_rows),
            missing_before=missing_before,
            changes=_changes(field, before, now) if self.n_rows else (),
            new_values=tuple(self.new[at].most_common(TOP_CHANGES)),
        )


def token_drift(
    labels: Sequence[str], learned: NDArray[np.int64], scored: NDArray[np.int64], new: tuple[tuple[str, int], ...]
) -> TokenDrift:
    """How the tokens drifted; the counts have one more entry than there are labels, for tokens never seen."""
    n, m = max(1, int(learned.sum())), max(1, int(scored.sum()))
    before, now, pooled = learned / n, scored / m, (learned + scored) / (n + m)
    deviation = np.sqrt(np.maximum(pooled * (1 - pooled) * (1 / n + 1 / m), 1e-30))
    unlikely = np.abs(now - before)[: len(labels)] / deviation[: len(labels)]
    order = [int(at) for at in np.argsort(-unlikely, kind="stable")[:MOST_CHANGES] if unlikely[at] >= UNLIKELY]
    return TokenDrift(
        n_tokens=int(scored.sum()),
        distance=total_variation(before, now) if scored.any() else 0.0,
        by_chance=distance_by_chance(learned, scored),
        unseen=float(now[-1]),
        changes=tuple(Change(str(labels[at]), float(before[at]), float(now[at])) for at in order if scored.any()),
        new=new,
    )


def total_variation(before: FloatArray, now: FloatArray) -> float:
    """The largest difference in share that any set of categories has.

    >>> round(total_variation(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.3, 0.2])), 3)
    0.2
    """
    return 0.5 * float(np.abs(before - now).sum())


def distance_by_chance(learned: NDArray[np.int64], scored: NDArray[np.int64]) -> float:
    """About the distance two samples of these sizes have when nothing drifted.

    Each share differs by a normal error of variance p (1 - p) (1/n + 1/m), whose mean size is sqrt(2 / pi) of its
    standard deviation.
    """
    n, m = int(learned.sum()), int(scored.sum())
    if not n or not m:
        return 0.0
    p = (learned + scored) / (n + m)
    return 0.5 * float(np.sqrt(2 / np.pi * p * (1 - p) * (1 / n + 1 / m)).sum())


def same_by_chance(learned: NDArray[np.int64], scored: NDArray[np.int64]) -> float:
    """The p-value of a chi-square test of homogeneity; categories with few expected rows are put together.

    >>> round(same_by_chance(np.array([60, 40, 0]), np.array([40, 60, 0])), 4)
    0.0047
    """
    from scipy.stats import chi2

    counts = np.stack([learned, scored])
    rows, total = counts.sum(axis=1, keepdims=True), counts.sum()
    if not rows.all():
        return 1.0
    few = rows.min() * counts.sum(axis=0) / total < FEWEST_EXPECTED
    counts = np.column_stack([counts[:, ~few], counts[:, few].sum(axis=1)])
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = rows * counts.sum(axis=0) / total
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, counts.shape[1] - 1)) if counts.shape[1] > 1 else 1.0


def new_by_chance(field: Field, scored: NDArray[np.int64]) -> float:
    """How often so many unseen values, or more, turn up where each row brings one with the probability learned."""
    from scipy.stats import binom

    return float(binom.sf(scored[-1] - 1, scored.sum(), field.unseen_mass))


def _changes(field: Field, before: FloatArray, now: FloatArray) -> tuple[Change, ...]:
    """The categories seen in training whose shares moved most."""
    moved = np.abs(now - before)[: field.size]
    order = np.argsort(-moved, kind="stable")[:TOP_CHANGES]
    return tuple(Change(field.labels[i], float(before[i]), float(now[i])) for i in order if moved[i] >= LEAST_CHANGE)
