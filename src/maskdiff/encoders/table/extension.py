"""A column that was learned learns on: values it had not seen get codes, and its range of numbers widens.

What it knew keeps its meaning, but codes may move to make room: `moved` says where each old code is now. Edges between
bins stay where they are. Where a number is beyond the range, the most extreme one gets a bin of its own, as in a fit:
a normal row that alone holds the extreme of a column is as odd as a new row beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.codings import Bins, Levels
from maskdiff.encoders.table.column_coder import ColumnCoder
from maskdiff.encoders.table.column_types import NumericType, escaped
from maskdiff.encoders.table.columns import Column


@dataclass(frozen=True, eq=False)
class ExtendedColumn:
    """The coder that knows more; `moved` (old size + 1,) is where each old code, unseen too, is now.

    `new_values` are the values that got codes, as texts, and `widened` whether numbers now reach further.
    """

    coder: ColumnCoder
    moved: NDArray[np.int64]
    new_values: tuple[str, ...] = ()
    widened: bool = False


def extended_column(coder: ColumnCoder, column: Column, max_categories: int, *, add_missing: bool) -> ExtendedColumn:
    """The coder after these normal cells too; `add_missing`: missing ones get a code where there was none."""
    column = coder.marked(column)
    is_marked = np.zeros(len(column.array), np.bool_) if column.mark is None else column.mark >= 0
    missing = coder.has_missing or (add_missing and bool((column.missing & ~is_marked).any()))
    coding: Levels | Bins
    if isinstance(coder.coding, Levels):
        coding, labels, places, new = _more_levels(coder, column, max_categories)
    else:
        coding, labels, places = _wider_bins(coder, column)
        new = ()
    n_marks, at = len(coder.marks), coder.coding.size
    labels += [*coder.field.labels[at : at + n_marks], *(["missing"] if missing else [])]
    behind = [coding.size + mark for mark in range(n_marks)] + [len(labels) - 1] * coder.has_missing
    moved = np.array([*places, *behind, len(labels)], np.int64)
    counts = np.zeros(len(labels), np.int64)
    counts[moved[:-1]] = coder.field.counts
    # The counts of the new cells need the codes, and the field wants counts: ones do until they are known.
    wider = replace(coder, coding=coding, has_missing=missing)
    middles = coding.middles if isinstance(coding, Bins) else ()
    field = replace(coder.field, labels=tuple(labels), counts=(1,) * len(labels), middles=middles)
    wider = replace(wider, field=field)
    counts += np.bincount(wider.encode(column), minlength=len(labels) + 1)[:-1]
    field = replace(wider.field, counts=tuple(counts.tolist()), singletons=_singletons(coder, coding, counts))
    widened = isinstance(coding, Bins) and coding.range != coder.coding.range
    return ExtendedColumn(replace(wider, field=field), moved, new, widened)


def _more_levels(
    coder: ColumnCoder, column: Column, max_categories: int
) -> tuple[Levels, list[str], list[int], tuple[str, ...]]:
    """The levels with the new ones in order, their labels, where the old codes are now, and what is new."""
    old, column_type = coder.coding, coder.column_type
    assert isinstance(old, Levels)
    labels: dict[Any, str] = dict(zip(old.levels, coder.field.labels, strict=False))
    found = _new_keys(coder, column) if old.folded is not None else []
    room = max(0, max_categories - len(old.levels))
    labels |= {key: escaped(text) for key, text in zip(found, column_type.texts(found), strict=True)}
    levels: list[Any] = sorted([*old.levels, *found[:room]])
    folded = None if old.folded is None else tuple(sorted([*old.folded, *found[room:]]))
    within = old.range
    if within is not None and found:
        within = replace(within, low=min(within.low, float(levels[0])), high=max(within.high, float(levels[-1])))
    coding, place = Levels(tuple(levels), folded, within), {key: at for at, key in enumerate(levels)}
    moved = [place[key] for key in old.levels] + [len(levels)] * (old.folded != ())
    names = [labels[key] for key in levels] + ["rare"] * (folded != ())
    return coding, names, moved, tuple(labels[key] for key in found)


def _new_keys(coder: ColumnCoder, column: Column) -> list[Any]:
    """The keys of cells that have no code yet, the most frequent first; ties go by value."""
    if column.is_empty:
        return []
    values, index = column.distinct()
    counts = np.bincount(index[index >= 0], minlength=len(values))
    known = {*coder.coding.levels, *(coder.coding.folded or ())}  # type: ignore[union-attr]
    times: dict[Any, int] = {}
    for key, count in zip(coder.column_type.keys(column, values), counts.tolist(), strict=True):
        usable = type(key) in coder.column_type.key_types and (isinstance(key, str) or np.isfinite(key))  # type: ignore[arg-type]
        if usable and key not in known and count:
            times[key] = times.get(key, 0) + count
    return sorted(times, key=lambda key: (-times[key], key))


def _wider_bins(coder: ColumnCoder, column: Column) -> tuple[Bins, list[str], list[int]]:
    """The bins, further out at either end where numbers are beyond, their labels, and where the old ones are now."""
    old, column_type = coder.coding, coder.column_type
    assert isinstance(old, Bins)
    assert isinstance(column_type, NumericType)
    numbers: FloatArray = np.empty(0) if column.is_empty else column_type.numbers(column)
    numbers = numbers[np.isfinite(numbers)]
    labels, places = list(coder.field.labels[: old.size]), list(range(old.size))
    if old.range is None or not len(numbers) or old.range.holds(numbers).all():
        return old, labels, places
    low, high = float(min(old.range.low, numbers.min())), float(max(old.range.high, numbers.max()))
    edges, below = list(old.edges), 0
    if column_type.has_tails and high > old.range.high:
        edges.append(float(max(old.range.high, *numbers[numbers < high], old.range.low)))
    if column_type.has_tails and low < old.range.low:
        edges, below = [low, *edges], 1
    ends = column_type.bounds([low, *edges, high])
    labels = [f"({left}, {right}]" for left, right in pairwise(ends)]
    labels[0] = f"[{labels[0][1:]}" if ends[0] != ends[1] else ends[0]
    wider = Bins(tuple(edges), replace(old.range, low=low, high=high))
    return wider, labels, [place + below for place in places]


def _singletons(coder: ColumnCoder, coding: Levels | Bins, counts: NDArray[np.int64]) -> int:
    """How many values were seen once: those with a code are counted again, those folded were counted before."""
    if isinstance(coding, Bins):
        is_wide = (
            coding.range is not None and isinstance(coder.column_type, NumericType) and coder.column_type.has_tails
        )
        return int((counts[[0, coding.size - 1]] == 1).sum()) if is_wide else coder.field.singletons
    assert isinstance(coder.coding, Levels)
    n_levels = len(coder.coding.levels)
    before = sum(count == 1 for count in coder.field.counts[:n_levels])
    return coder.field.singletons - before + int((counts[: len(coding.levels)] == 1).sum())
