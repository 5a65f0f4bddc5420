"""Which fields are computed from the dates of normal rows, and what is learned about them.

A derived field is left out where it says nothing, being always the same, or nothing that the dates themselves do not
say: days and hours as if drawn by lot, and a difference that varies as much as the dates do, in either direction.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.encoders.table.arrays import DAY
from maskdiff.encoders.table.column_types import COLUMN_TYPES, DateType
from maskdiff.encoders.table.column_types.derived import CountedType
from maskdiff.encoders.table.derived import Derivation, DerivedField, Moments, derivations
from maskdiff.encoders.table.learned_coders import learn_coder
from maskdiff.encoders.table.number_sample import NumberSample
from maskdiff.encoders.table.statistics import ColumnStatistics, TableStatistics

# From this part of the normal rows to that one is what is usual.
USUAL = (0.02, 0.98)
# A difference that varies less than this share of what either date varies ties them together.
_TIED = 0.75
# One date is never before the other if it is not in this share of the rows.
_ORDERED = 0.99
# Fewer days, or more than so many days for each that occurs, are no calendar.
_FEWEST_DAYS, _SPARSEST_DAYS = 28, 14


class DerivedStatistics:
    """What is learned about all fields that can be computed from dates; merges like that of columns."""

    def __init__(self, **limits: int) -> None:
        self.limits: dict[str, Any] = limits
        self.fields: dict[Derivation, ColumnStatistics] = {}

    def add(self, moments: Moments) -> None:
        """One more batch: the ticks of its date columns, NaN where missing."""
        for derivation in derivations(list(moments)):
            self._of(derivation).add(derivation.column(moments))

    def merge(self, other: DerivedStatistics) -> None:
        """What was learned from rows that follow these."""
        for derivation, learned in other.fields.items():
            self._of(derivation).merge(learned)

    def _of(self, derivation: Derivation) -> ColumnStatistics:
        if derivation not in self.fields:
            requested = COLUMN_TYPES[derivation.rule]
            self.fields[derivation] = ColumnStatistics(derivation.name, requested, **self.limits)
        return self.fields[derivation]


def learn_derived(statistics: TableStatistics, kept: Sequence[ColumnStatistics], **settings: int) -> list[DerivedField]:
    """The derived fields that say something, given the columns that are kept; `settings` are those of `learn_coder`."""
    if statistics.derived is None:
        return []
    columns = {one.name: one for one in kept if isinstance(one.type, DateType) and one.present}
    taken, n_rows, fields = {*statistics.columns, *statistics.dropped}, statistics.rows, list[DerivedField]()
    for derivation in derivations(list(columns)):
        learned = statistics.derived.fields.get(derivation)
        if learned is None or not says_something(derivation, learned, columns):
            continue
        derivation, learned = forward(derivation, copy.copy(learned))
        learned.missing += n_rows - learned.rows  # batches without a date
        learned.rows, learned.name = n_rows, own_name(derivation.name, taken)
        usual = quantiles(learned.sample, USUAL) if derivation.rule == "difference" else None
        fields.append(DerivedField(derivation, learn_coder(learned, **settings), usual))
    return fields


def own_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name = f"{name} (derived)"
    return name


def says_something(derivation: Derivation, learned: ColumnStatistics, columns: Mapping[str, ColumnStatistics]) -> bool:
    sources = [columns[source].sample for source in derivation.sources]
    if isinstance(learned.type, CountedType):
        counts = np.array(list((learned.levels or {}).values()))
        sparse = derivation.rule == "weekday" and is_sparse(sources[0])
        return len(counts) > 1 and not sparse and not is_even(counts, learned.type.n_values)
    return len(learned.sample.values) > 1 and is_tied(learned.sample, *sources)


def is_even(counts: NDArray[np.int64], n_values: int) -> bool:
    """Whether these counts, of values of which there are `n_values`, differ no more than by chance (chi-squared)."""
    expected = counts.sum() / n_values
    squares = ((counts - expected) ** 2).sum() / expected + (n_values - len(counts)) * expected
    freedom = n_values - 1
    return bool(squares <= freedom + 3 * np.sqrt(2 * freedom))


def is_sparse(dates: NumberSample) -> bool:
    """Whether there are too few days to speak of days of the week: some months, the ends of quarters."""
    days = np.unique(np.floor(dates.values / DAY))
    return len(days) < _FEWEST_DAYS or len(days) * _SPARSEST_DAYS < days[-1] - days[0]


def is_tied(difference: NumberSample, first: NumberSample, second: NumberSample) -> bool:
    """Whether the one date says something about the other: when it is, or at least that it is not before it."""
    spread = [high - low for low, high in (quantiles(one, USUAL) for one in (difference, first, second))]
    overlap = min(first.values[-1], second.values[-1]) > max(first.values[0], second.values[0])
    later = difference.counts[difference.values >= 0].sum() / difference.counts.sum()
    earlier = difference.counts[difference.values <= 0].sum() / difference.counts.sum()
    return bool(spread[0] < _TIED * min(spread[1:]) or (overlap and max(later, earlier) >= _ORDERED))


def quantiles(sample: NumberSample, parts: tuple[float, float]) -> tuple[float, float]:
    """Numbers that this part of the rows does not exceed."""
    upto = sample.counts.cumsum()
    places = np.searchsorted(upto, np.array(parts) * upto[-1]).clip(max=len(upto) - 1)
    low, high = sample.values[places].tolist()
    return low, high


def forward(derivation: Derivation, learned: ColumnStatistics) -> tuple[Derivation, ColumnStatistics]:
    """The same with the sources in the order in which the difference is mostly positive."""
    if derivation.rule != "difference" or quantiles(learned.sample, (0.5, 0.5))[0] >= 0:
        return derivation, learned
    sample = learned.sample
    learned.sample = replace(sample, values=-sample.values[::-1], counts=sample.counts[::-1])
    learned.range = (-learned.range[1], -learned.range[0])
    if learned.levels is not None:
        learned.levels = Counter({-int(key): count for key, count in learned.levels.items()})
    return replace(derivation, sources=derivation.sources[::-1]), learned
