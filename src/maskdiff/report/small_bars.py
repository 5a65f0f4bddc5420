"""Small pictures: learned against new shares of a column, and alarms over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maskdiff.drift.columns import NEVER_SEEN, ColumnDrift
from maskdiff.report.chart import Bar, steps
from maskdiff.report.formatting import count, drift_label, percent
from maskdiff.report.timeline import Timeline

# In units that need no decimals; the picture is stretched to its frame.
WIDTH, HEIGHT = 960.0, 240.0


@dataclass(frozen=True)
class SmallBars:
    """Bars and, over them, a stepped line."""

    name: str
    first: str
    last: str
    bars: tuple[Bar, ...]
    line: str


def learned_and_new(drift: ColumnDrift) -> SmallBars:
    """The shares of a column's values: bars for the scored rows, the line for the rows the model learned from."""
    top = max(max(one.before, one.now) for one in drift.shares) or 1.0
    labels = [drift_label(one.label) for one in drift.shares]
    shares = [f"{percent(one.before)} learned, {percent(one.now)} now" for one in drift.shares]
    titles = [f"{label}: {share}" for label, share in zip(labels, shares, strict=True)]
    odd = [one.label == NEVER_SEEN for one in drift.shares]
    heights = [one.now / top for one in drift.shares]
    line = [one.before / top for one in drift.shares]
    known = [label for label, new in zip(labels, odd, strict=True) if not new]
    return _picture(drift.name, (known[0], known[-1]), heights, line, titles, odd)


def over_time(timeline: Timeline, rate: float) -> SmallBars:
    """Bars for the alarms of each period, the line for the false alarms expected there."""
    expected = [rate * one.n_rows for one in timeline.periods]
    top = max(timeline.most, *expected) or 1.0
    titles = [f"{one.label}: anomalies {count(one.n_alarms)}, rows {count(one.n_rows)}" for one in timeline.periods]
    heights, line = [one.n_alarms / top for one in timeline.periods], [one / top for one in expected]
    ends = timeline.periods[0].label, timeline.periods[-1].label
    return _picture(timeline.column, ends, heights, line, titles, [True] * len(titles))


def _picture(
    name: str,
    ends: tuple[str, str],
    heights: Sequence[float],
    line: Sequence[float],
    titles: Sequence[str],
    odd: Sequence[bool],
) -> SmallBars:
    width = WIDTH / len(heights)
    bars = tuple(
        Bar(i * width, HEIGHT * (1 - height), width, HEIGHT * height, odd[i], titles[i])
        for i, height in enumerate(heights)
    )
    edges = [i * width for i in range(len(heights) + 1)]
    return SmallBars(name, *ends, bars, steps(edges, [HEIGHT * (1 - height) for height in line], HEIGHT))
