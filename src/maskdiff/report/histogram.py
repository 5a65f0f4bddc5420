"""Scores counted in equal bins that meet at the threshold: any number of rows, always the same space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray

BELOW, ABOVE = 512, 4096
MOST_BARS = 64
# The axis ends this many times the distance from the lowest score to the threshold beyond it; the rest is one bar.
FARTHEST = 5


class ScoreHistogram:
    """How many scores fall into each bin.

    Bin k holds the scores in (threshold + k width, threshold + (k + 1) width], so those from 0 up are exactly the
    alarms. Where a score lies beyond the last bin, neighbours are put together and the bins get twice as wide. The
    bins depend on the scores alone, not on the order or the batches they came in.

    >>> histogram = ScoreHistogram(threshold=2.0).add(np.array([0.5, 2.0, 2.1, 3.0]))
    >>> histogram.total, histogram.alarms
    (4, 2)
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.width = max(threshold, 1e-6) / BELOW
        self.counts = np.zeros(BELOW + ABOVE, dtype=np.int64)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def alarms(self) -> int:
        return int(self.counts[BELOW:].sum())

    def add(self, scores: FloatArray) -> ScoreHistogram:
        if len(scores):
            while scores.max() > self.threshold + ABOVE * self.width:
                self.widen()
            bins = np.ceil((scores - self.threshold) / self.width).astype(np.int64) - 1
            self.counts += np.bincount(bins.clip(-BELOW, ABOVE - 1) + BELOW, minlength=len(self.counts))
        return self

    def widen(self) -> None:
        """Put neighbours together, on either side of the threshold."""
        below, above = self.counts[:BELOW].reshape(-1, 2).sum(axis=1), self.counts[BELOW:].reshape(-1, 2).sum(axis=1)
        self.counts = np.concatenate([np.zeros(BELOW // 2, np.int64), below, above, np.zeros(ABOVE // 2, np.int64)])
        self.width *= 2

    def at_least(self, width: float) -> ScoreHistogram:
        """The same counts in bins at least this wide."""
        copy = ScoreHistogram(self.threshold)
        copy.width, copy.counts = self.width, self.counts.copy()
        while copy.width < width * (1 - 1e-9):
            copy.widen()
        return copy


@dataclass(frozen=True, eq=False)
class Bars:
    """Two histograms made ready to be drawn: edges (n + 1,), counts (n,); `beyond` rows of the last bar lie past it."""

    edges: FloatArray
    scored: NDArray[np.int64]
    calibration: NDArray[np.int64]
    beyond: int

    def shares(self) -> tuple[FloatArray, FloatArray]:
        """What part of the scored and of the calibration rows each bar holds."""
        return self.scored / max(1, self.scored.sum()), self.calibration / max(1, self.calibration.sum())


def draw_together(scored: ScoreHistogram, calibration: ScoreHistogram) -> Bars:
    """At most about `MOST_BARS` bars over all scores of both, one edge on the threshold."""
    scored, calibration = scored.at_least(calibration.width), calibration.at_least(scored.width)
    held = np.flatnonzero(scored.counts + calibration.counts) - BELOW
    below = max(1, -int(held.min(initial=0)))
    reach = max(1, int(held.max(initial=0)) + 1)
    # Some room above the threshold even where nothing stands there: that nothing does is worth seeing.
    above = min(max(reach, below // 4), FARTHEST * below)
    together = -(-(below + above) // MOST_BARS)
    n_below, n_above = -(-below // together), -(-above // together)
    parts = [_gather(one.counts, n_below, n_above, together) for one in (scored, calibration)]
    edges = scored.threshold + scored.width * together * np.arange(-n_below, n_above + 1)
    beyond = int(scored.counts[BELOW + n_above * together :].sum())
    return Bars(edges.clip(min=min(0.0, scored.threshold)), parts[0], parts[1], beyond)


def _gather(counts: NDArray[np.int64], n_below: int, n_above: int, together: int) -> NDArray[np.int64]:
    """Every `together` bins as one, counted from the threshold; what lies past the ends joins the end bars."""
    bar = np.floor_divide(np.arange(-BELOW, ABOVE), together).clip(-n_below, n_above - 1) + n_below
    gathered = np.zeros(n_below + n_above, dtype=np.int64)
    np.add.at(gathered, bar, counts)
    return gathered
