"""Scores counted in bins of equal width with an edge at the threshold; the memory does not grow with the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

BINS_BELOW, BINS_ABOVE = 512, 4096
MAX_BARS = 64
# The axis extends above the threshold by at most this multiple of its extent below; higher scores join the last bar.
MAX_EXTENT_RATIO = 5


class ScoreHistogram:
    """The number of scores in each bin.

    Bin k holds the scores in (threshold + k width, threshold + (k + 1) width], so the bins from 0 up hold exactly the
    alarms. For a score beyond the last bin, neighbouring bins are merged and become twice as wide. The bins depend on
    the scores alone, not on their order or batches.

    >>> histogram = ScoreHistogram(threshold=2.0).add(np.array([0.5, 2.0, 2.1, 3.0]))
    >>> histogram.total, histogram.alarms
    (4, 2)
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.width = max(threshold, 1e-6) / BINS_BELOW
        self.counts = np.zeros(BINS_BELOW + BINS_ABOVE, dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def alarms(self) -> int:
        return int(self.counts[BINS_BELOW:].sum())

    def add(self, scores: FloatArray) -> ScoreHistogram:
        if len(scores):
            while scores.max() > self.threshold + BINS_ABOVE * self.width:
                self.widen()
            bins = np.ceil((scores - self.threshold) / self.width).astype(np.int64) - 1
            self.counts += np.bincount(bins.clip(-BINS_BELOW, BINS_ABOVE - 1) + BINS_BELOW, minlength=len(self.counts))
        return self

    def widen(self) -> None:
        """Merge neighbouring bins, on either side of the threshold."""
        merged = self.counts.reshape(-1, 2).sum(axis=1)
        self.counts = np.pad(merged, (BINS_BELOW // 2, BINS_ABOVE // 2))
        self.width *= 2

    def widened_to(self, width: float) -> ScoreHistogram:
        """The same counts in bins at least this wide."""
        copy = ScoreHistogram(self.threshold)
        copy.width, copy.counts = self.width, self.counts.copy()
        while copy.width < width * (1 - 1e-9):
            copy.widen()
        return copy


@dataclass(frozen=True, eq=False)
class Bars:
    """Two histograms with common bars: edges (n + 1,), counts (n,); `beyond` rows of the last bar exceed its edge."""

    edges: FloatArray
    scored: NDArray[np.int64]
    calibration: NDArray[np.int64]
    beyond: int

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """The share of the scored and of the calibration rows in each bar."""
        return self.scored / max(1, self.scored.sum()), self.calibration / max(1, self.calibration.sum())


def shared_bars(scored: ScoreHistogram, calibration: ScoreHistogram) -> Bars:
    """About `MAX_BARS` bars at most over all scores of both, with one edge at the threshold."""
    scored, calibration = scored.widened_to(calibration.width), calibration.widened_to(scored.width)
    occupied = np.flatnonzero(scored.counts + calibration.counts) - BINS_BELOW
    below = max(1, -int(occupied.min(initial=0)))
    highest = max(1, int(occupied.max(initial=0)) + 1)
    # The axis extends above the threshold even without alarms, so that their absence can be seen.
    above = min(max(highest, below // 4), MAX_EXTENT_RATIO * below)
    bins_per_bar = -(-(below + above) // MAX_BARS)
    n_below, n_above = -(-below // bins_per_bar), -(-above // bins_per_bar)
    counts = [_merge_bins(one.counts, n_below, n_above, bins_per_bar) for one in (scored, calibration)]
    edges = scored.threshold + scored.width * bins_per_bar * np.arange(-n_below, n_above + 1)
    beyond = int(scored.counts[BINS_BELOW + n_above * bins_per_bar :].sum())
    return Bars(edges.clip(min=min(0.0, scored.threshold)), counts[0], counts[1], beyond)


def _merge_bins(counts: NDArray[np.int64], n_below: int, n_above: int, bins_per_bar: int) -> NDArray[np.int64]:
    """Counts of bars of `bins_per_bar` bins, starting at the threshold; bins past the ends join the end bars."""
    bar = np.floor_divide(np.arange(-BINS_BELOW, BINS_ABOVE), bins_per_bar).clip(-n_below, n_above - 1) + n_below
    merged = np.zeros(n_below + n_above, dtype=np.int64)
    np.add.at(merged, bar, counts)
    return merged
