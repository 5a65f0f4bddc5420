"""KeyWatch: how often the values of a column repeat, in all rows and whatever their order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def _none() -> NDArray[Any]:
    return np.empty(0, np.int64)


@dataclass
class KeyWatch:
    """Distinct values (integers, or hashes of texts), in order, each with its number of rows.

    `learned` counts the rows that are learned from, `counts` all rows. Beyond `limit` distinct values only those are
    kept whose hash ends in `zeros` zero bits, a random part that depends neither on the order of the rows nor on how
    they were cut into batches. `seen` and `bounds` are those of all values.
    """

    limit: int
    values: NDArray[Any] = field(default_factory=_none)
    counts: Counts = field(default_factory=_none)
    learned: Counts = field(default_factory=_none)
    zeros: int = 0
    seen: int = 0
    bounds: tuple[int, ...] = ()

    def add(self, values: NDArray[Any], counts: Counts | None = None, *, learned: bool = True) -> None:
        """The values of one more batch, with the number of rows of each (None: one)."""
        if len(values):
            counts = np.ones(len(values), np.int64) if counts is None else counts
            self._unite(values, counts, counts if learned else np.zeros_like(counts))
            self._extend(int(counts.sum()), (int(values.min()), int(values.max())))

    def merge(self, other: KeyWatch) -> None:
        """The values of another watch too."""
        if other.seen:
            self.zeros = max(self.zeros, other.zeros)
            self._unite(other.values, other.counts, other.learned)
            self._extend(other.seen, other.bounds)

    def _extend(self, seen: int, bounds: tuple[int, ...]) -> None:
        self.seen += seen
        ends = (*self.bounds, *bounds)
        self.bounds = (min(ends), max(ends))

    def _unite(self, values: NDArray[Any], counts: Counts, learned: Counts) -> None:
        together, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = ((self.counts, counts), (self.learned, learned))
        summed = (np.bincount(place, np.concatenate(parts), len(together)).astype(np.int64) for parts in both)
        self.values, (self.counts, self.learned) = together, summed
        hashes = _mixed(self.values)
        while (kept := hashes & np.uint64((1 << self.zeros) - 1) == 0).sum() > self.limit:
            self.zeros += 1
        self.values, self.counts, self.learned = self.values[kept], self.counts[kept], self.learned[kept]

    @property
    def n_distinct(self) -> int:
        """How many values there are; an estimate where not all were kept."""
        return min(len(self.values) << self.zeros, self.seen)

    @property
    def n_once(self) -> int:
        """How many of them were seen once; an estimate where not all were kept."""
        return min(int((self.counts == 1).sum()) << self.zeros, self.seen)


def _mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """64 bits for each value in which every bit depends on all of the value's (the finaliser of SplitMix64)."""
    if values.dtype == object:  # integers beyond 64 bits
        bits = np.array([hash(value) & 0xFFFF_FFFF_FFFF_FFFF for value in values], np.uint64)
    else:
        bits = values.astype(np.int64).view(np.uint64).copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
