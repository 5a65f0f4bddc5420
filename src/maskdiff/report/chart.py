"""The score distribution as shapes: the positions of bars, steps and ticks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.report.formatting import count, percent, score
from maskdiff.report.histogram import Bars

# The picture is stretched to its frame, so its units are arbitrary; labels are text next to it and are not stretched.
WIDTH, HEIGHT = 1000.0, 240.0
NICE_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Bar:
    """One bar of scored rows; `title` is shown when it is pointed at."""

    x: float
    y: float
    width: float
    height: float
    odd: bool
    title: str


@dataclass(frozen=True)
class Tick:
    """A label and its position on the axis, in percent."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Bars for the scored rows, a stepped line for the calibration rows, ticks for both axes."""

    scale: str
    bars: tuple[Bar, ...]
    line: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    threshold: float


@dataclass(frozen=True)
class Scale:
    """Maps a share of the rows to a height from 0 to 1; `ticks` are the shares to label."""

    height: Callable[[float], float]
    ticks: tuple[float, ...]


def linear(shares: FloatArray) -> Scale:
    """From 0 to a round number above the highest bar."""
    step = nice_step(float(shares.max(initial=0.01)), 4)
    top = step * math.ceil(float(shares.max(initial=0.01)) / step - 1e-9)
    ticks = tuple(step * i for i in range(round(top / step) + 1))
    return Scale(lambda share: share / top, ticks)


def logarithmic(shares: FloatArray) -> Scale:
    """By powers of ten, from below the lowest bar, so that a single row among thousands is visible."""
    positive = shares[shares > 0]
    lowest, highest = float(positive.min(initial=1.0)), float(positive.max(initial=0.1))
    low, high = math.floor(math.log10(0.7 * lowest)), math.ceil(math.log10(highest) - 1e-9)
    high = max(high, low + 1)
    return Scale(
        lambda share: (math.log10(share) - low) / (high - low) if share > 0 else 0.0,
        tuple(10.0**power for power in range(low, high + 1)),
    )


SCALES: dict[str, Callable[[FloatArray], Scale]] = {"linear": linear, "log": logarithmic}


def draw(bars: Bars, threshold: float, scale_name: str) -> Chart:
    """The chart of both distributions on one of the scales."""
    scored, calibration = bars.shares()
    scale = SCALES[scale_name](np.concatenate([scored, calibration]))
    low, high = float(bars.edges[0]), float(bars.edges[-1])

    def x_of(at: float) -> float:
        return WIDTH * (at - low) / (high - low)

    return Chart(
        scale=scale_name,
        bars=tuple(_bar(bars, i, scale, x_of, threshold) for i in np.flatnonzero(bars.scored).tolist()),
        line=steps([x_of(edge) for edge in bars.edges], [HEIGHT * (1 - scale.height(s)) for s in calibration], HEIGHT),
        x_ticks=tuple(Tick(x_of(t) / WIDTH * 100, f"{t:g}") for t in nice_ticks(low, high, 8)),
        y_ticks=tuple(Tick(100 * scale.height(t), f"{100 * t:.4g}%") for t in scale.ticks),
        threshold=x_of(threshold),
    )


def _bar(bars: Bars, i: int, scale: Scale, x_of: Callable[[float], float], threshold: float) -> Bar:
    left, right = x_of(bars.edges[i]), x_of(bars.edges[i + 1])
    height = HEIGHT * scale.height(bars.scored[i] / bars.scored.sum())
    title = f"{bar_range(bars, i)}: {count(int(bars.scored[i]))} scored rows"
    odd = bool(bars.edges[i] >= threshold - 1e-9)
    return Bar(left, HEIGHT - height, right - left, height, odd, title)


def steps(x: list[float], y: list[float], bottom: float) -> str:
    """The path of a line that changes its height at the edges only."""
    parts = [f"M{x[0]:.1f} {bottom:.1f}"]
    for i, height in enumerate(y):
        parts.append(f"V{height:.1f}H{x[i + 1]:.1f}")
    return "".join([*parts, f"V{bottom:.1f}"])


def bar_range(bars: Bars, i: int) -> str:
    """The range of scores of a bar, as text."""
    if bars.beyond and i == len(bars.scored) - 1:
        return f"above {score(bars.edges[i])}"
    return f"{score(bars.edges[i])} to {score(bars.edges[i + 1])}"


def bar_lines(bars: Bars) -> list[tuple[str, str, str, str, str]]:
    """The lines of a table: scores, rows and their share, calibration rows and their share; empty bars are left out."""
    scored, calibration = bars.shares()
    return [
        (
            bar_range(bars, i),
            count(int(bars.scored[i])),
            percent(float(scored[i])),
            count(int(bars.calibration[i])),
            percent(float(calibration[i])),
        )
        for i in np.flatnonzero(bars.scored + bars.calibration).tolist()
    ]


def nice_step(span: float, max_steps: int) -> float:
    """A round step that fits into the span at most `max_steps` times.

    >>> nice_step(0.37, 4), nice_step(3.2, 8)
    (0.1, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(span / max_steps))
    return next(float(f"{power * nice:.6g}") for nice in NICE_STEPS if power * nice * max_steps >= span * (1 - 1e-9))


def nice_ticks(low: float, high: float, max_steps: int) -> list[float]:
    """Round numbers from `low` to `high`, at equal steps.

    >>> nice_ticks(0.13, 2.2, 5)
    [0.5, 1.0, 1.5, 2.0]
    """
    step = nice_step(high - low, max_steps)
    first = math.ceil(low / step - 1e-9)
    return [float(f"{step * i:.6g}") for i in range(first, math.floor(high / step + 1e-9) + 1)]
