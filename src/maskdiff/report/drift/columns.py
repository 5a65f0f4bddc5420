"""How the columns of the scored rows differ from those of the normal rows the model learned from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, Field, FloatArray
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import Table
from maskdiff.report.drift.statistics import (
    MAX_NEW,
    NEW_KEPT,
    STRONG,
    Change,
    distance_by_chance,
    homogeneity_p_value,
    total_variation,
    unseen_p_value,
)

MISSING = "missing"
N_CHANGES = 3
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
    """

    name: str
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
        return next(level for least, level in LEVELS if self.distance >= least)


class DriftCounts:
    """Counts every code of every column, and the unseen values by their text."""

    def __init__(self, encoder: TableEncoder) -> None:
        self.encoder = encoder
        self.n_rows = 0
        self.counts: list[NDArray[np.int64]] = [np.zeros(f.size + 1, np.int64) for f in encoder.schema_]
        self.new: list[Counter[str]] = [Counter() for _ in encoder.schema_]
        self.newly_missing = [0] * len(encoder.schema_)

    def add(self, table: Table, codes: Codes) -> None:
        self.n_rows += len(codes)
        for at, field in enumerate(self.encoder.schema_):
            values = codes.values[:, at]
            self.counts[at] += np.bincount(values, minlength=field.size + 1)
            unseen = np.flatnonzero(values == field.size)
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
        learned, scored = np.array([*field.counts, 0], dtype=np.int64), self.counts[at]
        before, now = learned / learned.sum(), scored / max(1, self.n_rows)
        # The missing code, where there is one, is the last that was learned.
        known_missing = int(scored[field.size - 1]) if missing_before else 0
        return ColumnDrift(
            field.name,
            distance=total_variation(before, now) if self.n_rows else 0.0,
            by_chance=distance_by_chance(learned, scored),
            p_value=min(1.0, 2 * min(homogeneity_p_value(learned, scored), unseen_p_value(field, scored))),
            unseen=(int(scored[-1]) - self.newly_missing[at]) / max(1, self.n_rows),
            missing=(known_missing + self.newly_missing[at]) / max(1, self.n_rows),
            missing_before=missing_before,
            changes=_changes(field, before, now) if self.n_rows else (),
            new_values=tuple(self.new[at].most_common(N_CHANGES)),
        )


def _changes(field: Field, before: FloatArray, now: FloatArray) -> tuple[Change, ...]:
    """The categories seen in training whose shares moved most."""
    moved = np.abs(now - before)[: field.size]
    order = np.argsort(-moved, kind="stable")[:N_CHANGES]
    return tuple(Change(field.labels[i], float(before[i]), float(now[i])) for i in order if moved[i] >= MIN_CHANGE)
