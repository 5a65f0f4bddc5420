from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from maskdiff.calibration import Calibration
from maskdiff.errors import CalibrationError

# Scores on a coarse grid, so that ties happen; differences are far above rounding.
SCORES = st.lists(st.integers(-50, 50).map(lambda n: n / 10), min_size=1, max_size=60)
RATES = st.integers(1, 99).map(lambda n: n / 100)


def slow_p_value(calibration, score):
    """One plus the normal rows at least as high, over one plus all of them."""
    return (1 + sum(normal >= score for normal in calibration)) / (1 + len(calibration))


@given(SCORES, SCORES)
def test_p_values_count_the_normal_rows_that_score_at_least_as_high(normal, new):
    found = Calibration.from_scores(normal).p_values(new)
    np.testing.assert_allclose(found, [slow_p_value(normal, score) for score in new])


@given(SCORES, SCORES, RATES)
def test_a_row_is_above_the_threshold_exactly_when_its_p_value_is_at_most_the_rate(normal, new, rate):
    calibration = Calibration.from_scores(normal)
    if rate < calibration.finest_rate - 1e-9:
        with pytest.raises(CalibrationError):
            calibration.threshold(rate)
        return
    above = np.array(new) > calibration.threshold(rate)
    np.testing.assert_array_equal(above, calibration.p_values(new) <= rate + 1e-12)


def test_scores_that_differ_only_by_rounding_are_ties():
    calibration = Calibration.from_scores([1.0, 2.0, 3.0])
    assert calibration.p_values([3.0 + 1e-7, 3.0 - 1e-7]).tolist() == [0.5, 0.5]
    large = Calibration.from_scores([1000.0, 2000.0, 3000.0])
    assert large.p_values([3000.001]).tolist() == [0.5]


def test_where_all_scores_tie_nothing_is_an_anomaly():
    calibration = Calibration.from_scores(np.full(99, 0.7))
    assert calibration.p_values([0.7]).tolist() == [1.0]
    assert not calibration.threshold(0.01) < 0.7


@pytest.mark.parametrize("rate", [0.02, 0.1])
@pytest.mark.parametrize("ties", [False, True])
def test_false_alarms_are_no_more_frequent_than_promised(rate, ties):
    """Over many fits on fresh normal rows, a fresh normal row is alarmed with probability at most the rate."""
    rng = np.random.default_rng(0)
    trials, alarms = 20_000, 0
    for _ in range(trials):
        scores = rng.gamma(2.0, size=80)
        scores = np.round(scores, 1) if ties else scores
        alarms += scores[-1] > Calibration.from_scores(scores[:-1]).threshold(rate)
    assert alarms <= binom.ppf(0.9999, trials, rate)
    if not ties:  # and the promise is not kept by hardly ever alarming
        assert alarms >= binom.ppf(0.0001, trials, rate - 1 / 80)


def test_p_values_of_normal_rows_are_at_most_alpha_with_probability_alpha_or_less():
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(20_000, 20))
    p_values = np.array([Calibration.from_scores(row[:-1]).p_values(row[-1:])[0] for row in scores])
    for alpha in (0.05, 0.2, 0.5):
        assert (p_values <= alpha + 1e-12).sum() <= binom.ppf(0.9999, len(scores), alpha)


@pytest.mark.parametrize(("rate", "needed"), [(0.01, 99), (0.05, 19), (0.001, 999), (0.3, 3), (1 / 7, 6)])
def test_a_rate_too_fine_is_refused_with_the_number_of_rows_it_needs(rate, needed):
    with pytest.raises(
        CalibrationError, match=rf"needs at least {needed:,} calibration rows; there are {needed - 1:,}"
    ):
        Calibration.from_scores(np.arange(needed - 1.0)).threshold(rate)
    enough = Calibration.from_scores(np.arange(float(needed)))
    assert enough.p_values([needed])[0] <= rate + 1e-12
    assert needed > enough.threshold(rate)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5, float("nan")])
def test_a_rate_outside_zero_and_one_is_refused(rate):
    calibration = Calibration.from_scores(np.arange(100.0))
    with pytest.raises(CalibrationError, match="must lie between 0 and 1"):
        calibration.threshold(rate)
    with pytest.raises(CalibrationError, match="must lie between 0 and 1"):
        calibration.select([1.0], rate)


def test_without_a_rate_it_is_one_percent_or_the_finest_there_is():
    assert Calibration.from_scores(np.arange(500.0)).rate_or_default(None) == 0.01
    assert Calibration.from_scores(np.arange(9.0)).rate_or_default(None) == pytest.approx(0.1)
    assert Calibration.from_scores(np.arange(9.0)).rate_or_default(0.2) == 0.2
    with pytest.raises(CalibrationError, match="needs at least 99"):
        Calibration.from_scores(np.arange(9.0)).rate_or_default(0.01)


def slow_benjamini_hochberg(p_values, rate):
    """The k smallest p-values, k the largest with p_(k) <= k / n * rate."""
    ranked = sorted(p_values)
    n, k = len(ranked), 0
    for i, p_value in enumerate(ranked, start=1):
        if p_value <= i / n * rate:
            k = i
    return [k > 0 and p_value <= ranked[k - 1] for p_value in p_values]


@given(SCORES, SCORES, RATES)
def test_selection_is_benjamini_and_hochbergs(normal, new, rate):
    rate += 1e-6  # off the grid of the p-values, where rounding would decide
    calibration = Calibration.from_scores(normal)
    slow = slow_benjamini_hochberg(calibration.p_values(new).tolist(), rate)
    assert calibration.select(new, rate).tolist() == slow


def test_selection_by_hand():
    calibration = Calibration.from_scores(np.arange(1.0, 100.0))
    new = [200.0, 150.0, 98.5, 50.0]  # p-values 0.01, 0.01, 0.02, 0.51
    assert calibration.select(new, 0.02).tolist() == [True, True, False, False]
    assert calibration.select(new, 0.03).tolist() == [True, True, True, False]
    assert calibration.select(new, 0.005).tolist() == [False] * 4
    assert calibration.select([], 0.1).tolist() == []


def test_the_share_of_normal_rows_among_those_selected_is_as_promised_on_average():
    rng = np.random.default_rng(2)
    shares = []
    for _ in range(300):
        calibration = Calibration.from_scores(rng.normal(size=400))
        new = np.concatenate([rng.normal(size=90), rng.normal(6, 1, size=10)])
        chosen = calibration.select(new, 0.2)
        shares.append(chosen[:90].sum() / max(chosen.sum(), 1))
    assert np.mean(shares) <= 0.2 + 4 * np.std(shares) / math.sqrt(300)
    assert np.mean(shares) > 0.05


def test_calibration_sorts_a_copy():
    scores = np.array([3.0, 1.0, 2.0])
    assert Calibration.from_scores(scores).scores.tolist() == [1, 2, 3]
    assert scores.tolist() == [3, 1, 2]
