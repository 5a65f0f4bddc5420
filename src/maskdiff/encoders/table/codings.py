"""Codings: how a column's cells become codes, once its type and its statistics are known.

The codes of a field come in this order: its levels or bins, then *rare* where values were folded, then marks (texts
among numbers that are values of their own), then *missing* where the normal rows had missing values. Everything else
gets the code `size`, *unseen*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray
from maskdiff.encoders.table.beyond import end_notes, excess_beyond
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, Key, NumericType, escaped
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.keys import enough_rows
from maskdiff.encoders.table.look_alikes import alike_notes, look_alikes
from maskdiff.encoders.table.recognition import marked
from maskdiff.encoders.table.statistics import ColumnStatistics
from maskdiff.errors import ModelFileError

# Bins of fewer rows would make too many normal rows odd.
_FEWEST_IN_A_TAIL = 5


@dataclass(frozen=True)
class Levels:
    """One code for each level. `folded` are the rare values: () for none, None for too many to remember.

    Where the levels are numbers, `range` is from the smallest to the largest; how far a number is beyond it counts.
    """

    levels: tuple[Key, ...]
    folded: tuple[Key, ...] | None = ()
    range: tuple[float, float] | None = None

    @property
    def size(self) -> int:
        return len(self.levels) + (self.folded != ())

    @cached_property
    def _code_of(self) -> dict[Key, int]:
        rare = dict.fromkeys(self.folded or (), len(self.levels))
        return {**rare, **{level: code for code, level in enumerate(self.levels)}}

    def codes(self, column_type: ColumnType, column: Column, unseen: int) -> NDArray[np.int64]:
        values, index = column.distinct()
        other = len(self.levels) if self.folded is None else unseen
        keys = column_type.keys(column, values)
        codes = [unseen if key is None else self._code_of.get(key, other) for key in keys]
        return np.array([*codes, unseen], np.int64)[index]  # a missing cell's index is -1

    def notes(self, column_type: ColumnType, column: Column) -> list[str]:
        """For each cell the level that it is not, but that it looks like; mostly nothing."""
        values, index = column.distinct()
        texts = [key if isinstance(key, str) else "" for key in column_type.keys(column, values)]
        notes = [*alike_notes(texts, self._code_of, self._alike), ""]
        return [notes[place] for place in index.tolist()]

    @cached_property
    def _alike(self) -> dict[str, str]:
        return look_alikes([level for level in (*self.levels, *(self.folded or ())) if isinstance(level, str)])

    def to_state(self) -> dict[str, Any]:
        folded, within = (None if part is None else list(part) for part in (self.folded, self.range))
        return {"levels": list(self.levels), "folded": folded, "range": within}

    def faults(self, column_type: ColumnType) -> list[str]:
        """What is wrong with it, if it came from a file."""
        found = {type(key) for key in (*self.levels, *(self.folded or ()))}
        checks = {
            "its levels are of the wrong type": found <= set(column_type.key_types),
            "a level is there twice": len(set(self.levels)) == len(self.levels),
            "its range is not one of numbers": self.range is None or _is_range(self.range, column_type),
        }
        return [fault for fault, passed in checks.items() if not passed]


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

    def codes(self, column_type: NumericType, column: Column, unseen: int) -> NDArray[np.int64]:
        numbers = column_type.numbers(column)
        codes = np.searchsorted(np.array(self.edges, dtype=np.float64), numbers, side="left").astype(np.int64)
        low, high = self.range or (-np.inf, np.inf)
        codes[~(np.isfinite(numbers) & (low <= numbers) & (numbers <= high))] = unseen
        return codes

    def to_state(self) -> dict[str, Any]:
        return {"edges": list(self.edges), "range": None if self.range is None else list(self.range)}

    def faults(self, column_type: ColumnType) -> list[str]:
        low, high = self.range or (-math.inf, math.inf)
        known = [*self.edges, *(self.range or ())]
        numbers = all(type(edge) is float and math.isfinite(edge) for edge in known)
        rising = numbers and all(left < right for left, right in pairwise(self.edges))
        rising = rising and all(low <= edge < high for edge in self.edges)
        checks = {
            "only numbers and dates can be in bins": isinstance(column_type, NumericType),
            "its edges do not rise": rising,
        }
        return [fault for fault, passed in checks.items() if not passed]


@dataclass(frozen=True)
class ColumnCoder:
    """How one column is coded: its cells into codes, itself into plain state and back."""

    column_type: ColumnType
    field: Field
    coding: Levels | Bins
    has_missing: bool
    marks: tuple[str, ...] = ()

    def encode(self, column: Column) -> NDArray[np.int64]:
        """Codes of the column's cells, shape (n,); each depends on its own cell alone."""
        column = marked(column, self.marks)
        missing = self.field.size - self.has_missing
        if column.is_empty:
            codes = np.full(len(column.array), missing, np.int64)
        else:
            codes = self.coding.codes(self.column_type, column, self.field.size)  # type: ignore[arg-type]
            codes[column.missing] = missing
        if column.mark is not None:
            codes = np.where(column.mark >= 0, self.coding.size + column.mark, codes)
        return codes

    def excess(self, column: Column, codes: NDArray[np.int64]) -> FloatArray | None:
        """What the column's cells, which have these codes, cost more for being beyond the range; None: none is."""
        unseen, within = codes == self.field.size, self.coding.range
        if within is None or column.is_empty or not unseen.any():
            return None
        excess = np.zeros(len(codes))
        excess[unseen] = excess_beyond(self._numbers(column.take(unseen)), within)
        return excess if excess.any() else None

    def notes(self, column: Column) -> list[str]:
        """What there is to say about each cell besides its value; mostly nothing.

        Which number seen a number is beyond, and which category one looks like.
        """
        if isinstance(self.coding, Levels) and not isinstance(self.column_type, NumericType):
            return self.coding.notes(self.column_type, column)
        if self.coding.range is None or column.is_empty:
            return [""] * len(column.array)
        return end_notes(self._numbers(column), self.coding.range, self._ends())

    def _numbers(self, column: Column) -> FloatArray:
        assert isinstance(self.column_type, NumericType)
        return self.column_type.numbers(column)

    def _ends(self) -> tuple[str, str]:
        """The smallest and the largest number seen, in words."""
        assert isinstance(self.column_type, NumericType)
        smallest, largest = self.column_type.ends
        if self.column_type.has_tails:
            low, high = self.column_type.texts(self.coding.range or ())
        else:  # some numbers beyond those seen are not unseen yet: the labels of the end bins say which were seen
            labels = [self.field.labels[at].strip("[(])").split(", ") for at in (0, self.field.n_ordered - 1)]
            low, high = labels[0][0], labels[1][-1]
        return f"{smallest} seen {low}", f"{largest} seen {high}"

    def to_state(self) -> dict[str, Any]:
        return {
            "name": self.field.name,
            "type": self.column_type.name,
            "labels": list(self.field.labels),
            "counts": list(self.field.counts),
            "singletons": self.field.singletons,
            "has_missing": self.has_missing,
            "marks": list(self.marks),
            "options": self.column_type.options(),
            **self.coding.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ColumnCoder:
        """The coder that `to_state` described; nothing is taken on trust."""
        try:
            if state["type"] not in COLUMN_TYPES:
                raise ModelFileError(f"the model file has a column of the type {state['type']!r}, which is not known.")
            column_type, coding = COLUMN_TYPES[state["type"]].with_options(state["options"]), coding_from(state)
            field = field_from(state, column_type, coding)
            coder = cls(column_type, field, coding, state["has_missing"], tuple(state["marks"]))
            faults = coder.faults()
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(
                f"the model file describes a column in a way that cannot be read: {error!r}."
            ) from error
        if faults:
            raise ModelFileError(f"the model file is damaged: column {coder.field.name!r}: {'; '.join(faults)}.")
        return coder

    def faults(self) -> list[str]:
        counts = [*self.field.counts, self.field.singletons]
        checks = {
            "whether it has missing values is not said": isinstance(self.has_missing, bool),
            "its labels are not texts": all(isinstance(label, str) for label in self.field.labels),
            "its counts are not positive integers": all(type(n) is int for n in counts) and min(self.field.counts) > 0,
            "labels, counts and codes differ in number": len(self.field.labels)
            == len(self.field.counts)
            == self.coding.size + len(self.marks) + self.has_missing,
            "its marks are not those of its type": set(self.marks) <= set(self.column_type.marks)
            and len(set(self.marks)) == len(self.marks),
        }
        return [fault for fault, passed in checks.items() if not passed] + self.coding.faults(self.column_type)


def field_of(
    name: str,
    column_type: ColumnType,
    coding: Levels | Bins,
    labels: Sequence[str],
    counts: Sequence[int],
    once: int,
    n_marks: int = 0,
) -> Field:
    """The field of a coded column. Numbers that are few enough to be levels are shown as categories."""
    levels, numeric = isinstance(coding, Levels), isinstance(column_type, NumericType)
    ordered = column_type.ordered_levels if levels else True
    shown = "category" if levels and numeric else column_type.general
    return Field(name, shown, tuple(labels), tuple(counts), once, ordered, n_marks)


def field_from(state: dict[str, Any], column_type: ColumnType, coding: Levels | Bins) -> Field:
    counts, once, n_marks = state["counts"], state["singletons"], len(state["marks"])
    return field_of(str(state["name"]), column_type, coding, state["labels"], counts, once, n_marks)


def coding_from(state: dict[str, Any]) -> Levels | Bins:
    within = None if state["range"] is None else (state["range"][0], state["range"][1])
    if "edges" in state:
        return Bins(tuple(state["edges"]), within)
    folded = state["folded"]
    return Levels(tuple(state["levels"]), None if folded is None else tuple(folded), within)


def _is_range(within: tuple[float, float], column_type: ColumnType) -> bool:
    numbers = all(type(end) is float and math.isfinite(end) for end in within)
    return numbers and within[0] <= within[1] and isinstance(column_type, NumericType)


def learn_coder(learned: ColumnStatistics, *, bins: int, tails: int, max_categories: int) -> ColumnCoder:
    """The coder of a column, from what was learned about it."""
    if learned.is_near_id:
        coding, field = learn_repeated(learned, max_categories)
    elif learned.levels is None:
        coding, field = learn_bins(learned, bins, tails)
    else:
        coding, field = learn_levels(learned, learned.levels, max_categories, _range(learned, tails))
    marks = tuple(mark for mark in learned.type.marks if learned.marks[mark])
    behind = {escaped(mark): learned.marks[mark] for mark in marks}
    behind |= {"missing": learned.missing} if learned.missing else {}
    field = replace(
        field,
        labels=(*field.labels, *behind),
        counts=(*field.counts, *behind.values()),
        singletons=field.singletons + sum(count == 1 for count in behind.values()),
        n_marks=len(marks),
    )
    return ColumnCoder(learned.type, field, coding, bool(learned.missing), marks)


def _range(learned: ColumnStatistics, tails: int) -> tuple[float, float] | None:
    """From where to where numbers are not beyond those seen; None where none is."""
    low, high = map(float, learned.range)
    return learned.type.limits(low, high) if tails and isinstance(learned.type, NumericType) and low <= high else None


def learn_levels(
    learned: ColumnStatistics, seen: Counter[Key], max_categories: int, within: tuple[float, float] | None
) -> tuple[Levels | Bins, Field]:
    """The most frequent values, in order; the others are folded into *rare*."""
    # Ties go by value, so that neither the order of the rows nor that of the batches matters.
    ranked: list[Any] = sorted(seen, key=lambda key: (-seen[key], key))
    kept, folded = sorted(ranked[:max_categories]), sorted(ranked[max_categories:])
    labels, counts = [escaped(text) for text in learned.type.texts(kept)], [seen[key] for key in kept]
    rare = sum(seen[key] for key in folded) + sum(count * n for count, n in learned.forgotten.items())
    if rare:
        labels, counts = [*labels, "rare"], [*counts, rare]
    once = sum(count == 1 for count in seen.values()) + learned.forgotten[1]
    levels = Levels(tuple(kept), None if learned.forgotten else tuple(folded), within)
    return levels, field_of(learned.name, learned.type, levels, labels, counts, once)


def learn_repeated(learned: ColumnStatistics, max_categories: int) -> tuple[Levels | Bins, Field]:
    """The values of a near-id that repeat; all others, new ones too, are *rare*, which is nothing odd."""
    seen = learned.repeated()
    enough = enough_rows(learned.key)
    ranked: list[Any] = sorted((key for key in seen if seen[key] >= enough), key=lambda key: (-seen[key], key))
    kept = sorted(ranked[:max_categories])
    labels, counts = [escaped(text) for text in learned.type.texts(kept)], [seen[key] for key in kept]
    rare = max(learned.present - sum(counts), 1)
    levels = Levels(tuple(kept), None)
    return levels, field_of(learned.name, learned.type, levels, [*labels, "rare"], [*counts, rare], 0)


def learn_bins(learned: ColumnStatistics, bins: int, tails: int) -> tuple[Levels | Bins, Field]:
    """Quantile bins, none of them empty. The end bins are labelled with the smallest and largest value seen."""
    column_type, sample = learned.type, learned.sample
    assert isinstance(column_type, NumericType)
    within, tails = _range(learned, tails), tails if column_type.has_tails else 0
    edges = quantile_edges(sample.values, sample.counts, bins, tails)
    held = np.bincount(np.searchsorted(edges, sample.values), weights=sample.counts) / sample.share
    low, *inner, high = column_type.bounds([learned.range[0], *edges.tolist(), learned.range[1]])
    labels = [f"({left}, {right}]" for left, right in pairwise([low, *inner, high])]
    labels[0] = f"[{labels[0][1:]}" if low != (inner or [high])[0] else low
    counts = held.round().astype(int).clip(1).tolist()
    # Inside the range every number has its bin; beyond it is as likely as that an end was reached by one row alone.
    once = int((sample.counts[[0, -1]] == 1).sum()) if tails else 0
    coding = Bins(tuple(edges.tolist()), within)
    return coding, field_of(learned.name, column_type, coding, labels, counts, once)


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
