"""NumberSample: the distinct numbers of a column with their counts, thinned where there are too many."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray


@dataclass
class NumberSample:
    """Distinct numbers in order, and how many rows of the sample hold each.

    Up to `limit` distinct numbers the sample is all rows. Beyond it, rows are thinned: each is in the sample with the
    probability `share`, a power of one half.
    """

    generator: np.random.Generator
    limit: int
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    share: float = 1.0

    def add(self, numbers: FloatArray) -> None:
        """One more batch of rows."""
        values, counts = np.unique(numbers, return_counts=True)
        self._unite(values, self._thinned(counts, self.share))

    def merge(self, other: NumberSample) -> None:
        """The rows of another sample too. Both are thinned to the smaller share of the two first."""
        share = min(self.share, other.share)
        counts = self._thinned(other.counts, share / other.share)
        self.counts, self.share = self._thinned(self.counts, share / self.share), share
        self._unite(other.values, counts)

    def _thinned(self, counts: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        return self.generator.binomial(counts, share) if share < 1 else counts

    def _unite(self, values: FloatArray, counts: NDArray[np.int64]) -> None:
        self.values, place = np.unique(np.concatenate([self.values, values]), return_inverse=True)
        both = np.concatenate([self.counts, counts])
        self.counts = np.bincount(place, weights=both, minlength=len(self.values)).astype(np.int64)
        self._keep(self.counts > 0)
        while len(self.values) > self.limit:
            self.counts = self._thinned(self.counts, 0.5)
            self.share /= 2
            self._keep(self.counts > 0)

    def _keep(self, chosen: NDArray[np.bool_]) -> None:
        self.values, self.counts = self.values[chosen], self.counts[chosen]
