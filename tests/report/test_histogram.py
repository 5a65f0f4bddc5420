"""Scores in bins: no row is lost, and the threshold separates alarms from other rows exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.report.chart import SCALES, bar_lines, draw, nice_ticks
from maskdiff.report.histogram import MAX_BARS, ScoreHistogram, shared_bars

scores = st.lists(st.floats(0, 200, allow_subnormal=False), max_size=60).map(lambda values: np.array(values, float))
thresholds = st.floats(1e-5, 30)


@given(scores, thresholds)
def test_bins_above_the_threshold_contain_exactly_the_alarms(values: np.ndarray, threshold: float) -> None:
    histogram = ScoreHistogram(threshold).add(values)
    assert histogram.total == len(values)
    assert histogram.alarms == (values > threshold).sum()


@given(scores, thresholds, st.integers(0, 60))
def test_bins_do_not_depend_on_batches_or_their_order(values: np.ndarray, threshold: float, cut: int) -> None:
    whole = ScoreHistogram(threshold).add(values)
    parts = ScoreHistogram(threshold).add(values[cut:]).add(values[:cut])
    assert parts.width == whole.width
    assert (parts.counts == whole.counts).all()


@given(scores, scores, thresholds)
def test_bars_contain_every_row_and_have_an_edge_at_the_threshold(
    scored: np.ndarray, calibration: np.ndarray, threshold: float
) -> None:
    bars = shared_bars(ScoreHistogram(threshold).add(scored), ScoreHistogram(threshold).add(calibration))
    assert bars.scored.sum() == len(scored)
    assert bars.calibration.sum() == len(calibration)
    assert len(bars.scored) <= MAX_BARS + 2
    above = bars.edges[:-1] >= threshold - 1e-12
    assert bars.scored[above].sum() == (scored > threshold).sum()


def test_far_scores_share_the_last_bar_and_are_counted() -> None:
    scored = np.array([0.9] * 98 + [1.2, 500.0])
    bars = shared_bars(ScoreHistogram(1.0).add(scored), ScoreHistogram(1.0).add(np.array([0.5])))
    assert bars.beyond == 1
    assert bar_lines(bars)[-1][0].startswith("above")


@given(scores, scores, thresholds)
def test_every_shape_is_inside_the_picture(scored: np.ndarray, calibration: np.ndarray, threshold: float) -> None:
    bars = shared_bars(ScoreHistogram(threshold).add(scored), ScoreHistogram(threshold).add(calibration))
    for scale in SCALES:
        chart = draw(bars, threshold, scale)
        assert all(0 <= bar.y <= 240 + 1e-6 and 0 < bar.height <= 240 + 1e-6 for bar in chart.bars)
        assert all(bar.x >= -1e-6 and bar.x + bar.width <= 1000 + 1e-6 for bar in chart.bars)
        assert all(-1e-6 <= tick.at <= 100 + 1e-6 for tick in (*chart.x_ticks, *chart.y_ticks))


@given(st.floats(0, 50), st.floats(0.01, 100))
def test_ticks_are_few_and_between_the_ends(low: float, span: float) -> None:
    ticks = nice_ticks(low, low + span, 8)
    assert len(ticks) <= 9
    assert all(low - 1e-6 <= tick <= low + span + 1e-6 for tick in ticks)
