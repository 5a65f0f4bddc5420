"""One row's score as a waterfall: from nothing to the score, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.detectors import Detector, Verdicts
from maskdiff.detectors.labels import pandas_index
from maskdiff.errors import InputError
from maskdiff.explanations.intervals import interval_text
from maskdiff.explanations.shading import visible
from maskdiff.plot.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ADDS, _TAKES_AWAY, _OTHERS, _INK, _FAINT, _BAND = "#d9722e", "#3f7cac", "#9aa5b1", "#22303c", "#6b7885", "#e7ecef"
# Of the scores of normal rows, from which to which share of them the band is drawn.
_FROM, _TO = 0.05, 0.95
# Characters of a name, a value or a note that are shown.
_LONGEST_NAME, _LONGEST_DETAIL = 30, 38
# In inches, of 100 pixels each: readable on a page 640 pixels wide, and as high as the bars need.
_WIDTH, _PER_BAR, _AROUND = 6.4, 0.5, 1.3
# A rest below this is what rounding leaves.
_NOTHING = 1e-9


@dataclass(frozen=True)
class Step:
    """One bar: what it adds to the score, its name and what is said about it."""

    name: str
    detail: str
    contribution: float
    color: str


def waterfall(detector: Detector, X: Any, row: int = 0, *, top: int = 5, ax: Axes | None = None) -> Figure:
    """A picture of one row's score as the sum of its cells, beside the scores of normal rows and the threshold.

    `row` is the row's place in X. Each of the `top` strongest cells has a bar, with its value and what was expected;
    the others share the bar at the bottom, from where the score grows upwards. Where one cell alone is odder than the
    row as a whole, a dotted line shows what is compared with the threshold instead of the score. It is drawn on `ax` if
    one is given, otherwise on a new figure, which notebooks show.

    >>> import maskdiff
    >>> detector = maskdiff.TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
    >>> figure = waterfall(detector, [["cat", "woof"]])
    >>> figure.axes[0].get_xlabel()
    'score, in nats'
    """
    rows = detector.encoder_.read(X)
    if not 0 <= row < rows.n_rows:
        raise InputError(f"there is no row {row}: X has {rows.n_rows:,} rows, counted from 0.")
    one = rows.take(np.array([row]))
    verdicts = detector.judge(one)
    if np.isnan(verdicts.anomaly_score[0]):
        raise InputError(f"row {row} has no tokens, so there is no score to draw.")
    steps = _steps(detector, one, verdicts, top)
    if ax is None:
        ax = new_figure((_WIDTH, _AROUND + _PER_BAR * len(steps))).subplots()
    _draw_steps(ax, steps)
    _draw_normal_rows(ax, detector, verdicts)
    index = pandas_index(X)
    name = f"Row {row if index is None else _short(index[row], _LONGEST_NAME)}"
    _draw_title(ax, verdicts, name, detector.threshold())
    figure: Any = ax.figure
    return figure  # type: ignore[no-any-return]


def _steps(detector: Detector, one: Any, verdicts: Verdicts, top: int) -> list[Step]:
    """The bars from the bottom upwards: all other cells together, then the strongest ones, the strongest last."""
    cells = detector.explain(one, top, verdicts=verdicts)
    is_table = detector.encoder_.parts == "columns"
    named = [_step(cell, is_table) for cell in cells.to_dict("records")][::-1]
    rest = float(verdicts.anomaly_score[0]) - sum(step.contribution for step in named)
    n_others = verdicts.contributions.size - len(named)
    if n_others <= 0 or (not is_table and abs(rest) < _NOTHING):
        return named
    # The pieces of a new word are one bar, so there is no telling how many tokens are left.
    others = f"{n_others:,} other column{'s' if n_others > 1 else ''}" if is_table else "all others"
    return [Step(others, "together", rest, _OTHERS), *named]


def _step(cell: dict[str, Any], is_table: bool) -> Step:
    value = visible(str(cell["value"])).strip()
    name = f"{cell['column']} = {value}" if is_table else f"“{value}”"
    expected = f"expected {_short(interval_text(cell['expected']), 22)} ({cell['expected_probability']:.0%})"
    detail = _short(cell.get("note") or (expected if cell["expected"] else ""), _LONGEST_DETAIL)
    color = _ADDS if cell["contribution"] >= 0 else _TAKES_AWAY
    return Step(_short(name, _LONGEST_NAME), detail, float(cell["contribution"]), color)


def _draw_steps(ax: Axes, steps: list[Step]) -> None:
    """The bars, each beginning where the one below it ended, with their names on the left."""
    from matplotlib.patheffects import withStroke

    ends = np.cumsum([step.contribution for step in steps])
    halo = [withStroke(linewidth=3, foreground="white")]  # numbers stay readable on the line of the threshold
    for at, (step, end) in enumerate(zip(steps, ends.tolist(), strict=True)):
        ax.barh(at, step.contribution, left=end - step.contribution, height=0.56, color=step.color, zorder=3)
        if at + 1 < len(steps):
            ax.plot([end, end], [at + 0.28, at + 0.72], color=_FAINT, linewidth=0.8, zorder=2)
        number: dict[str, Any] = {"va": "center", "fontsize": 9, "color": _INK, "zorder": 4, "path_effects": halo}
        right = (max(end, end - step.contribution), at)
        ax.annotate(f"{step.contribution:+.2f}", right, xytext=(4, 0), textcoords="offset points", **number)
        _name(ax, at + 0.15, step.name, fontsize=9, color=_INK)
        _name(ax, at - 0.2, step.detail, fontsize=7.5, color=_FAINT)
    ax.set_ylim(-0.6, len(steps) - 0.4)
    ax.set_yticks([])


def _name(ax: Axes, height: float, text: str, **how: Any) -> None:
    """A text on the left of the bars; dollar signs are no formulas."""
    ax.text(-0.02, height, text, transform=ax.get_yaxis_transform(), ha="right", va="center", parse_math=False, **how)


def _draw_normal_rows(ax: Axes, detector: Detector, verdicts: Verdicts) -> None:
    """Where the scores of normal rows are, the threshold, and what is compared with it if it is not the score."""
    score = float(verdicts.alarm_score[0])
    lowest = ax.dataLim.x0
    low, high = np.quantile(detector.calibration_.scores, [_FROM, _TO])
    threshold = detector.threshold()
    dashed: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.2, "zorder": 1}
    ax.axvspan(low, high, color=_BAND, zorder=0, linewidth=0, label=f"{_TO - _FROM:.0%} of normal rows")
    ax.axvline(threshold, color=_INK, label=f"threshold {threshold:.2f}", **dashed)
    if score > verdicts.anomaly_score[0]:
        raised = f"raised to {score:.2f} by one cell"
        ax.axvline(score, color=_ADDS, label=raised, linestyle=":", linewidth=1.6, zorder=1)
    ax.set_xlim(1.05 * min(0.0, low, lowest), 1.13 * max(score, threshold, high))
    deviations = len(detector.evidence_.terms) > 1
    ax.set_xlabel("score, " + ("in standard deviations of normal rows" if deviations else "in nats"), fontsize=9)
    ax.tick_params(labelsize=8.5, colors=_FAINT)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8, frameon=False, borderaxespad=0.1)
    for side in ("top", "left", "right"):
        ax.spines[side].set_visible(False)


def _draw_title(ax: Axes, verdicts: Verdicts, name: str, threshold: float) -> None:
    said = "an alarm" if verdicts.is_anomaly[0] else "no alarm"
    if verdicts.is_anomaly[0] and verdicts.anomaly_score[0] <= threshold:
        said += " by one cell alone"
    title = f"{name}: score {verdicts.anomaly_score[0]:.2f}, p-value {verdicts.p_value[0]:.2g}, {said}"
    ax.set_title(title, fontsize=10.5, color=_INK, pad=22, parse_math=False)


def _short(value: Any, longest: int) -> str:
    """A value as a text without line breaks, cut in its middle if it is too long.

    >>> _short("a" * 50 + "\\n" + "z" * 50, 9)
    'aaaa…zzzz'
    """
    text = " ".join(visible(str(value)).split())
    if len(text) <= longest:
        return text
    kept = (longest - 1) // 2
    return f"{text[: longest - 1 - kept]}…{text[-kept:]}"
