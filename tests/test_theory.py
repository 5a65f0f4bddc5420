from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff import theory
from maskdiff.errors import SettingError

GRID = {"levels": 9, "views": 16, "ceiling": 2.0}


def test_the_theorems_bounds_are_those_of_the_paper() -> None:
    assert theory.theorem_false_alarms(3.0, levels=40, views=50, ceiling=2.0) == pytest.approx(3 * math.exp(-5.0))
    assert theory.theorem_misses(1.0, levels=50, views=40, ceiling=2.0) == pytest.approx(2 * math.exp(-5.0))


def test_only_the_smaller_of_levels_and_views_counts_in_the_theorem_but_all_views_count_in_fact() -> None:
    more_views = {**GRID, "views": 10_000}
    assert theory.theorem_misses(1.0, **GRID) == theory.theorem_misses(1.0, **more_views)
    assert theory.view_bound(0.1, n_views=9 * 10_000, ceiling=2.0) < theory.view_bound(0.1, n_views=9 * 16, ceiling=2.0)


@given(st.floats(0, 5), st.integers(1, 10**6), st.floats(0.1, 30))
def test_no_bound_is_above_one(margin: float, size: int, ceiling: float) -> None:
    grid = {"levels": size, "views": size, "ceiling": ceiling}
    for bound in (theory.theorem_false_alarms(margin, **grid), theory.theorem_misses(margin, **grid)):
        assert 0 <= bound <= 1
    assert 0 <= theory.view_bound(margin, n_views=size, ceiling=ceiling) <= 1


@given(st.floats(0.01, 1), st.floats(1e-6, 0.99), st.floats(0.1, 30))
def test_the_views_needed_are_enough_and_one_fewer_is_not(margin: float, error: float, ceiling: float) -> None:
    n = theory.views_needed(margin, error=error, ceiling=ceiling)
    assert 2 * theory.view_bound(margin, n_views=n, ceiling=ceiling) <= error * (1 + 1e-9)
    if n > 1:
        fewer = math.exp(-2 * (n - 1) * margin**2 / ceiling**2)  # a bound is cut at 1, twice a bound is not
        assert 2 * fewer > error * (1 - 1e-9)


def test_averages_of_views_stay_within_the_view_bound() -> None:
    """Views as far apart as they may be, zero or the ceiling, at levels of different means."""
    rng = np.random.default_rng(0)
    mean_L = np.linspace(0.2, 0.8, 9)
    views = rng.random((20_000, 9, 4)) < mean_L[:, None]
    error = views.mean(axis=(1, 2)) - 0.5
    for margin in (0.05, 0.1, 0.15):
        assert (error >= margin).mean() <= theory.view_bound(margin, n_views=36, ceiling=1.0)


def test_the_bound_for_rows_keeps_their_spread_and_loses_the_views() -> None:
    expected = np.array([0.2] * 90 + [0.9] * 10)
    few, many = (theory.false_alarm_bound(expected, 0.6, n_views=n, ceiling=1.0) for n in (10, 100_000))
    assert 0.1 < few <= 1
    assert many == pytest.approx(0.1)


def test_an_error_of_the_model_loosens_the_bound_and_none_leaves_it_alone() -> None:
    expected, grid = np.linspace(0.1, 0.9, 50), {"n_views": 10_000, "ceiling": 1.0}
    bounds = [theory.false_alarm_bound(expected, 1.5, **grid, model_error=e) for e in (0.0, 1e-6, 1e-4, 1e-2, 1.0)]
    assert bounds[0] == theory.false_alarm_bound(expected, 1.5, **grid)
    assert bounds == sorted(bounds)
    assert bounds[1] < 0.01
    assert bounds[-1] == 1.0


@pytest.mark.parametrize("sharpness", [0.2, 1.0, 3.0])
def test_a_model_raises_surprises_no_more_than_its_error_allows(sharpness: float) -> None:
    """Random distributions and models of them: the bound is about any log ratio under the true distribution."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, p = rng.dirichlet(np.ones(6)), rng.dirichlet(np.full(6, sharpness)) + 1e-9
        ratio = np.log(q / (p / p.sum()))
        error = float(q @ ratio)
        for margin in (0.1, 0.5, 2.0):
            assert q[ratio >= margin].sum() <= theory.model_error_bound(margin, model_error=error) + 1e-12


def test_misses_are_false_alarms_turned_round() -> None:
    expected = np.array([0.1, 0.4, 0.8, 0.9])
    for n_views in (5, 50, 5000):
        misses = theory.miss_bound(expected, 0.5, n_views=n_views, ceiling=1.0)
        assert misses == pytest.approx(theory.false_alarm_bound(1 - expected, 0.5, n_views=n_views, ceiling=1.0))
    assert theory.miss_bound(expected, 0.5, n_views=10**6, ceiling=1.0) == pytest.approx(0.5)


@pytest.mark.parametrize("n_fields", [1, 3])
def test_the_time_posterior_of_a_clean_row_is_the_same_for_every_row(n_fields: int) -> None:
    """From the definition: rows of 0s and 1s, 2 = mask; the probability of a state given a time, summed over rows."""
    rng = np.random.default_rng(n_fields)
    rows = np.stack(np.meshgrid(*[[0, 1]] * n_fields), axis=-1).reshape(-1, n_fields)
    q0 = rng.dirichlet(np.ones(len(rows)))
    alpha_T, prior_T = np.array([0.95, 0.6, 0.2]), np.array([0.2, 0.5, 0.3])
    same = rows[:, None, :] == rows[None, :, :]
    reaches = np.prod(alpha_T[:, None, None, None] * same, axis=-1)  # times, seen rows, clean rows
    joint = prior_T[:, None] * (reaches @ q0)
    posterior = joint / joint.sum(axis=0)
    expected = theory.time_posterior(prior_T, alpha_T, n_fields)
    np.testing.assert_allclose(posterior, np.tile(expected[:, None], len(rows)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: theory.view_bound(-0.1, n_views=1, ceiling=1.0),
        lambda: theory.view_bound(0.1, n_views=1, ceiling=0.0),
        lambda: theory.views_needed(0.0, error=0.1, ceiling=1.0),
        lambda: theory.views_needed(0.1, error=1.0, ceiling=1.0),
        lambda: theory.model_error_bound(0.1, model_error=-0.1),
        lambda: theory.false_alarm_bound([], 0.5, n_views=1, ceiling=1.0),
    ],
)
def test_what_makes_no_sense_is_refused(call) -> None:
    with pytest.raises(SettingError):
        call()
