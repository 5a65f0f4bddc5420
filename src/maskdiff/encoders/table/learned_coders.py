"""How a column is coded, from what was learned about it: its levels, the values that repeat, or its bins."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray
from maskdiff.encoders.table.beyond import NumberRange
from maskdiff.encoders.table.codings import Bins, Levels
from maskdiff.encoders.table.column_coder import ColumnCoder, field_of
from maskdiff.encoders.table.column_types import Key, NumericType, escaped
from maskdiff.encoders.table.keys import enough_rows
from maskdiff.encoders.table.statistics import ColumnStatistics

# Bins of fewer rows would make too many normal rows odd.
_FEWEST_IN_A_TAIL = 5


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
        # Damaged numbers are all different, and have no code.
        singletons=field.singletons + sum(count == 1 for count in behind.values()) + learned.damaged,
        n_marks=len(marks),
    )
    return ColumnCoder(learned.type, field, coding, bool(learned.missing), marks)


def _range(learned: ColumnStatistics, tails: int) -> NumberRange | None:
    """From where to where numbers are not beyond those seen; None where none is."""
    low, high = map(float, learned.range)
    if not tails or not isinstance(learned.type, NumericType) or low > high:
        return None
    return learned.type.range_of(learned.sample.values, learned.sample.counts, low, high)


def learn_levels(
    learned: ColumnStatistics, seen: Counter[Key], max_categories: int, within: NumberRange | None
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
