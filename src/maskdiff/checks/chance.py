"""How many alarms chance alone gives."""

from __future__ import annotations

from maskdiff.checks.counts import CheckCounts


def alarms_by_chance(counts: CheckCounts, rate: float, interval: float) -> tuple[float, float]:
    """The fewest and the most alarms that chance gives where all rows are normal and the promise holds.

    The rate that a threshold truly has is itself uncertain, the more so the fewer calibration rows are above it: it
    has a beta distribution. Equal calibration scores lower it, so that those above are counted.
    """
    from scipy.stats import betabinom

    n = len(counts.calibration)
    above = int((counts.calibration.scores > counts.calibration.threshold(rate)).sum())
    tail = (1 - interval) / 2
    fewest = betabinom.ppf(tail, counts.rows, above, n + 1 - above) if above else 0.0
    return float(fewest), float(betabinom.ppf(1 - tail, counts.rows, above + 1, n - above))
