"""How the columns of the scored rows differ from those of the normal rows the model learned from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, Field, FloatArray, Schema
from maskdiff.drift.statistics import (
    MAX_NEW,
    NEW_KEPT,
    STRONG,
    Change,
    distance_by_chance,
    homogeneity_p_value,
    total_variation,
    unseen_p_value,
)
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import Table

MISSING = "missing"
NEVER_SEEN, OTHER = "never seen", "all others"
N_CHANGES = 3
# The values of a column whose shares are given one by one, the most frequent ones.
MAX_SHARES = 12
# A change of less than this share of the rows is not listed.
MIN_CHANGE = 0.005
# Differences at least this likely without drift are put down to chance. Small, as there are many columns.
CHANCE = 0.001
# The smallest distance of each level, the largest first.
LEVELS = ((STRONG, "strong"), (0.1, "clear"), (0.0, "slight"))


@dataclass(frozen=True)
class ColumnDrift:
    """How far one column moved. `distance` is the total variation distance of the shares: 0 the same, 1 disjoint.

    `by_chance` is the approximate distance without any drift, `p_value` how likely a difference like this is then.
    `changes` are the shares that moved most, `shares` those of all bins in order, or of the most frequent categories.
    """

    name: str
    distance: float
    by_chance: float
    p_value: float
    unseen: float
    missing: float
    missing_before: float
    changes: tuple[Change, ...]
    shares: tuple[Change, ...]
    new_values: tuple[tuple[str, int], ...]

    @property
    def level(self) -> str:
        return drift_level(self.distance, self.p_value)


def drift_level(distance: float, p_value: float) -> str:
    """Whether a column moved by chance, or how far.

    >>> drift_level(0.3, p_value=1e-9), drift_level(0.3, p_value=0.2)
    ('strong', 'chance')
    """
    return "chance" if p_value >= CHANCE else next(level for least, level in LEVELS if distance >= least)


class CodeCounts:
    """Counts every code of every column, a few vectorised passes over a batch."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.n_rows = 0
        self.counts: list[NDArray[np.int64]] = [np.zeros(field.size + 1, np.int64) for field in schema]

    def add(self, codes: Codes) -> None:
        self.n_rows += len(codes)
        for at, field in enumerate(self.schema):
            self.counts[at] += np.bincount(codes.values[:, at], minlength=field.size + 1)

    def merge(self, other: CodeCounts) -> None:
        """The counts of other rows too."""
        self.n_rows += other.n_rows
        for mine, theirs in zip(self.counts, other.counts, strict=True):
            mine += theirs

    def distance(self, at: int) -> float:
        """The total variation distance between a column and the normal rows."""
        learned, scored = self.learned(at), self.counts[at]
        return total_variation(learned / learned.sum(), scored / self.n_rows) if self.n_rows else 0.0

    def p_value(self, at: int) -> float:
        """How likely a difference like this is without any drift."""
        learned, scored = self.learned(at), self.counts[at]
        both = homogeneity_p_value(learned, scored), unseen_p_value(self.schema.fields[at], scored)
        return min(1.0, 2 * min(both))

    def learned(self, at: int) -> NDArray[np.int64]:
        """How often the normal rows had each code; none of them was unseen."""
        return np.array([*self.schema.fields[at].counts, 0], dtype=np.int64)


class DriftCounts:
    """Counts every code of every column, and the unseen values by their text."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.encoder = encoder
        self.codes = CodeCounts(encoder.schema_)
        self.new: list[Counter[str]] = [Counter() for _ in encoder.schema_]
        self.newly_missing = [0] * len(encoder.schema_)

    def add(self, table: Table, codes: Codes) -> None:
        self.codes.add(codes)
        for at, field in enumerate(self.encoder.schema_):
            unseen = np.flatnonzero(codes.values[:, at] == field.size)
            if len(unseen):
                self._add_unseen(at, self.encoder.display(table, unseen, [at] * len(unseen)))

    def _add_unseen(self, at: int, texts: list[str]) -> None:
        new = Counter(texts)
        # Where the normal rows had no missing values, a missing one has the unseen code too.
        self.newly_missing[at] += new.pop(MISSING, 0)
        self.new[at] += new
        if len(self.new[at]) > MAX_NEW:
            self.new[at] = Counter(dict(self.new[at].most_common(NEW_KEPT)))

    def columns(self) -> list[ColumnDrift]:
        """Every column, the one that moved most first."""
        missing_before = {line["name"]: line["missing"] or 0.0 for line in self.encoder.summary()}
        drifts = [self._column(at, f, missing_before[f.name]) for at, f in enumerate(self.encoder.schema_)]
        return sorted(drifts, key=lambda drift: (drift.level == "chance", -drift.distance))

    def _column(self, at: int, field: Field, missing_before: float) -> ColumnDrift:
        n_rows, learned, scored = self.codes.n_rows, self.codes.learned(at), self.codes.counts[at]
        before, now = learned / learned.sum(), scored / max(1, n_rows)
        # The missing code, where there is one, is the last that was learned.
        known_missing = int(scored[field.size - 1]) if missing_before else 0
        return ColumnDrift(
            field.name,
            distance=self.codes.distance(at),
            by_chance=distance_by_chance(learned, scored),
            p_value=self.codes.p_value(at),
            unseen=(int(scored[-1]) - self.newly_missing[at]) / max(1, n_rows),
            missing=(known_missing + self.newly_missing[at]) / max(1, n_rows),
            missing_before=missing_before,
            changes=_changes(field, before, now) if n_rows else (),
            shares=_shares(field, before, now),
            new_values=tuple(self.new[at].most_common(N_CHANGES)),
        )


def _changes(field: Field, before: FloatArray, now: FloatArray) -> tuple[Change, ...]:
    """The categories seen in training whose shares moved most."""
    moved = np.abs(now - before)[: field.size]
    order = np.argsort(-moved, kind="stable")[:N_CHANGES]
    return tuple(Change(field.labels[i], float(before[i]), float(now[i])) for i in order if moved[i] >= MIN_CHANGE)


def _shares(field: Field, before: FloatArray, now: FloatArray) -> tuple[Change, ...]:
    """The shares of all bins in order, or of the most frequent categories; what was never seen comes last."""
    named = list(range(field.size))
    if not field.n_ordered and field.size > MAX_SHARES:
        named = np.argsort(-(before + now)[: field.size], kind="stable")[:MAX_SHARES].tolist()
    found = [Change(field.labels[i], float(before[i]), float(now[i])) for i in named]
    rest = Change(OTHER, float(1 - before[named].sum()), float(now[:-1].sum() - now[named].sum()))
    never_seen = Change(NEVER_SEEN, 0.0, float(now[-1]))
    return (*found, *[rest] * (len(named) < field.size), *[never_seen] * bool(now[-1]))
