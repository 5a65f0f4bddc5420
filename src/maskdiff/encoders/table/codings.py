"""Coders: the fitted half of a column. Each turns a column's cells into codes, and itself into plain state and back.

The codes of a field come in this order: its levels or bins, then *rare* where values were folded, then *missing* where
the normal rows had missing values. Everything else gets the code `size`, *unseen*.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray
from maskdiff.encoders.table.column_types import ORDERED, READINGS, Key, OrderedReading, Reading
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.statistics import FAMILIES, ColumnStatistics
from maskdiff.errors import ModelFileError

FOLDED_LIMIT = 1_000_000
# Bins of fewer rows would make too many normal rows odd.
_FEWEST_IN_A_TAIL = 5


@dataclass(frozen=True)
class Levels:
    """One code for each level. `folded` are the rare values: () for none, None for too many to remember."""

    levels: tuple[Key, ...]
    folded: tuple[Key, ...] | None = ()

    @property
    def size(self) -> int:
        return len(self.levels) + (self.folded != ())

    @cached_property
    def _code_of(self) -> dict[Key, int]:
        rare = dict.fromkeys(self.folded or (), len(self.levels))
        return {**rare, **{level: code for code, level in enumerate(self.levels)}}

    def codes(self, family: str, column: Column, unseen: int) -> NDArray[np.int64]:
        values, index = column.distinct()
        other = len(self.levels) if self.folded is None else unseen
        keys = READINGS[family].keys(column, values)
        codes = [unseen if key is None else self._code_of.get(key, other) for key in keys]
        return np.array([*codes, unseen], np.int64)[index]  # a missing cell's index is -1

    def to_state(self) -> dict[str, Any]:
        return {"levels": list(self.levels), "folded": None if self.folded is None else list(self.folded)}

    def faults(self, family: str) -> list[str]:
        """What is wrong with it, if it came from a file."""
        held = {type(key) for key in (*self.levels, *(self.folded or ()))}
        allowed = {int, float} if family in ORDERED else {str}
        distinct = len(set(self.levels)) == len(self.levels)
        return ["its levels are of the wrong type"] * (not held <= allowed) + ["a level is there twice"] * (
            not distinct
        )


@dataclass(frozen=True)
class Bins:
    """One code for each interval between edges, closed on the right.

    The first and the last end where `range` does, and what is beyond is unseen; without it they are open-ended.
    """

    edges: tuple[float, ...]
    range: tuple[float, float] | None = None

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def codes(self, family: str, column: Column, unseen: int) -> NDArray[np.int64]:
        numbers = ORDERED[family].numbers(column)
        codes = np.searchsorted(np.array(self.edges, dtype=np.float64), numbers, side="left").astype(np.int64)
        low, high = self.range or (-np.inf, np.inf)
        codes[~(np.isfinite(numbers) & (low <= numbers) & (numbers <= high))] = unseen
        return codes

    def to_state(self) -> dict[str, Any]:
        return {"edges": list(self.edges), "range": None if self.range is None else list(self.range)}

    def faults(self, family: str) -> list[str]:
        low, high = self.range or (-math.inf, math.inf)
        known = [*self.edges, *(self.range or ())]
        numbers = all(type(edge) is float and math.isfinite(edge) for edge in known)
        rising = numbers and all(left < right for left, right in pairwise(self.edges))
        rising = rising and all(low <= edge < high for edge in self.edges)
        return ["texts cannot be in bins"] * (family not in ORDERED) + ["its edges do not rise"] * (not rising)


@dataclass(frozen=True)
class ColumnCoder:
    """How one column is coded."""

    family: str
    field: Field
    coding: Levels | Bins
    has_missing: bool

    def encode(self, column: Column) -> NDArray[np.int64]:
        """Codes of the column's cells, shape (n,); each depends on its own cell alone."""
        missing = self.field.size - self.has_missing
        if column.is_empty:
            return np.full(len(column.array), missing, np.int64)
        codes = self.coding.codes(self.family, column, self.field.size)
        codes[column.missing] = missing
        return codes

    def to_state(self) -> dict[str, Any]:
        return {
            "name": self.field.name,
            "family": self.family,
            "kind": self.field.type,
            "labels": list(self.field.labels),
            "counts": list(self.field.counts),
            "singletons": self.field.singletons,
            "has_missing": self.has_missing,
            **self.coding.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ColumnCoder:
        """The coder that `to_state` described; nothing is taken on trust."""
        try:
            coder = cls(state["family"], field_from(state), coding_from(state), state["has_missing"])
            faults = coder.faults()
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(
                f"the model file describes a column in a way that cannot be read: {error!r}."
            ) from error
        if faults:
            raise ModelFileError(f"the model file is damaged: column {coder.field.name!r}: {'; '.join(faults)}.")
        return coder

    def faults(self) -> list[str]:
        if self.family not in READINGS or not isinstance(self.has_missing, bool):
            return [f"no column is read as {self.family!r}"]
        counts = [*self.field.counts, self.field.singletons]
        checks = {
            "its labels are not texts": all(isinstance(label, str) for label in self.field.labels),
            "its counts are not positive integers": all(type(n) is int for n in counts) and min(self.field.counts) > 0,
            "labels, counts and codes differ in number": len(self.field.labels)
            == len(self.field.counts)
            == self.coding.size + self.has_missing,
        }
        return [fault for fault, held in checks.items() if not held] + self.coding.faults(self.family)


def field_from(state: dict[str, Any]) -> Field:
    labels, counts = tuple(state["labels"]), tuple(state["counts"])
    return Field(str(state["name"]), str(state["kind"]), labels, counts, state["singletons"], "edges" in state)


def coding_from(state: dict[str, Any]) -> Levels | Bins:
    if "edges" in state:
        within = state["range"]
        return Bins(tuple(state["edges"]), None if within is None else (within[0], within[1]))
    folded = state["folded"]
    return Levels(tuple(state["levels"]), None if folded is None else tuple(folded))


def learn_coder(learned: ColumnStatistics, *, bins: int, tails: int, max_categories: int) -> ColumnCoder:
    """The coder of a column, from what was learned about it."""
    family = learned.family or FAMILIES[learned.asked]("text")
    if learned.levels is None:
        coding, field = learn_bins(learned, ORDERED[family], bins, tails)
    else:
        coding, field = learn_levels(learned, learned.levels, READINGS[family], max_categories)
    if learned.missing:
        once = field.singletons + (learned.missing == 1)
        labels, counts = (*field.labels, "missing"), (*field.counts, learned.missing)
        field = replace(field, labels=labels, counts=counts, singletons=once)
    return ColumnCoder(family, field, coding, bool(learned.missing))


def learn_levels(
    learned: ColumnStatistics, seen: Counter[Key], reading: Reading, max_categories: int
) -> tuple[Levels | Bins, Field]:
    """The most frequent values, in order; the others are folded into *rare*."""
    # Ties go by value, so that neither the order of the rows nor that of the batches matters.
    ranked: list[Any] = sorted(seen, key=lambda key: (-seen[key], key))
    kept, folded = sorted(ranked[:max_categories]), sorted(ranked[max_categories:])
    labels, counts = reading.words(kept), [seen[key] for key in kept]
    rare = sum(seen[key] for key in folded) + sum(count * n for count, n in learned.forgotten.items())
    if rare:
        labels, counts = [*labels, "rare"], [*counts, rare]
    once = sum(count == 1 for count in seen.values()) + learned.forgotten[1]
    remembered = len(folded) <= FOLDED_LIMIT and not learned.forgotten
    levels = Levels(tuple(kept), tuple(folded) if remembered else None)
    return levels, Field(learned.name, "category", tuple(labels), tuple(counts), once)


def learn_bins(
    learned: ColumnStatistics, reading: OrderedReading, bins: int, tails: int
) -> tuple[Levels | Bins, Field]:
    """Quantile bins, none of them empty. The end bins are labelled with the smallest and largest value seen.

    Dates have no tails and no range: what is scored is mostly later than what was learned from.
    """
    sample, tails = learned.sample, tails if reading.kind == "number" else 0
    edges = quantile_edges(sample.values, sample.counts, bins, tails)
    held = np.bincount(np.searchsorted(edges, sample.values), weights=sample.counts) / sample.share
    low, *inner, high = reading.bounds([learned.range[0], *edges.tolist(), learned.range[1]])
    labels = [f"({left}, {right}]" for left, right in pairwise([low, *inner, high])]
    labels[0] = f"[{labels[0][1:]}" if low != (inner or [high])[0] else low
    counts = tuple(held.round().astype(int).clip(1).tolist())
    # Inside the range every number has its bin; beyond it is as likely as that an end was reached by one row alone.
    once = int((sample.counts[[0, -1]] == 1).sum()) if tails else 0
    within = (float(learned.range[0]), float(learned.range[1])) if tails else None
    return Bins(tuple(edges.tolist()), within), Field(
        learned.name, reading.kind, tuple(labels), counts, once, ordered=True
    )


def quantile_edges(values: FloatArray, counts: NDArray[np.int64], bins: int, tails: int = 0) -> FloatArray:
    """Values that cut the rows into `bins` parts as equal as can be; fewer where one value holds many rows.

    The part at either end is cut in half up to `tails` times and the extreme value stands alone, so that a number is
    the rarer the further out it is.

    >>> quantile_edges(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1, 1, 1, 1]), bins=2)
    array([2.])
    >>> quantile_edges(np.arange(100.0), np.ones(100, int), bins=2, tails=3)
    array([ 0.,  6., 12., 24., 49., 74., 86., 92., 98.])
    """
    upto, total = counts.cumsum(), int(counts.sum())
    wanted = [math.ceil(part * total / bins) for part in range(1, bins)]
    outer = [total / bins / 2**time for time in range(1, tails + 1)]
    for n in [1] * (tails > 0) + [math.ceil(part) for part in outer if part >= _FEWEST_IN_A_TAIL]:
        wanted += [n, total - n]
    # The largest value is never an edge: nothing would be left for the last bin.
    places = np.searchsorted(upto, wanted).clip(max=len(values) - 2)
    return np.unique(values[places]) if len(values) > 1 else np.empty(0)
