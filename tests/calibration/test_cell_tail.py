"""Of the cells reported from one dirty file about as many are fine as was asked for, though nothing else calibrates."""

import numpy as np
import pytest

from maskdiff.calibration import CellCalibration, CellTail, beyond_usual, on_one_scale
from maskdiff.errors import CalibrationError


def dirty(share, seed, shape=(4000, 12), rate=1.0):
    """Log odds of a file: columns of several scales of what is usual, and a share of wrong cells."""
    rng = np.random.default_rng(seed)
    usual_F = rng.uniform(-3.0, 0.5, shape[1])
    log_odds = np.maximum(rng.exponential(1 / rate, shape) + usual_F, 0.0)
    wrong = rng.random(shape) < share
    log_odds[wrong] = rng.uniform(0.0, 14.0, int(wrong.sum()))
    return log_odds, wrong


def reported(log_odds, rate=0.1):
    oddness = on_one_scale(beyond_usual(log_odds, np.full(log_odds.shape, -1)))
    return CellTail.of(oddness).select(oddness, rate)


@pytest.mark.parametrize(("share", "rate"), [(0.005, 1.0), (0.02, 0.8), (0.05, 1.3)])
def test_about_as_many_cells_reported_are_fine_as_asked_for(share, rate):
    fine = []
    for seed in range(4):
        log_odds, wrong = dirty(share, seed, rate=rate)
        chosen = reported(log_odds)
        assert chosen[wrong].mean() > 0.3
        fine.append((chosen & ~wrong).sum() / chosen.sum())
    assert 0.05 < np.mean(fine) < 0.15


def test_many_wrong_cells_that_models_learned_from_are_not_taken_for_fine_ones():
    rng = np.random.default_rng(7)
    log_odds, wrong = dirty(0.05, seed=7, shape=(12_000, 12))
    log_odds[wrong] = rng.normal(5.5, 1.3, int(wrong.sum()))  # as unlikely as they are rare
    chosen = reported(log_odds)
    assert chosen[wrong].mean() > 0.6
    assert (chosen & ~wrong).sum() / chosen.sum() < 0.1


def test_where_few_cells_are_wrong_the_middle_of_the_tail_is_fine():
    rng, fine = np.random.default_rng(11), []
    for seed in range(4):
        log_odds, wrong = dirty(0.003, seed, shape=(12_000, 12))
        rare = ~wrong[:, 4] & (rng.random(len(log_odds)) < 0.01)  # fine in this column, and unlikely
        log_odds[rare, 4] = rng.normal(5.0, 0.8, int(rare.sum()))
        chosen = reported(log_odds)
        fine.append((chosen & ~wrong).sum() / chosen.sum())
    assert np.mean(fine) < 0.15


def test_wrong_cells_that_calibrate_hide_each_other_where_all_cells_count_as_fine():
    log_odds, wrong = dirty(0.02, seed=1)
    assert not CellCalibration.of(log_odds).select(log_odds, 0.1).any()
    assert reported(log_odds)[wrong].any()


def test_a_file_without_errors_has_hardly_any():
    for seed in range(10):
        assert reported(dirty(0.0, seed)[0]).sum() <= 1


def test_models_of_few_rows_are_taken_to_be_too_sure():
    rates = [CellTail.of(dirty(0.0, seed=5, shape=(n, 10), rate=1.4)[0] - 1.0).rate for n in (500, 20_000)]
    assert rates[0] <= 0.9
    assert rates[1] > 1.1


def test_what_is_usual_for_a_column_is_not_odd():
    log_odds, wrong = dirty(0.01, seed=2)
    log_odds[:, 3] = np.random.default_rng(3).uniform(0.0, 5.0, len(log_odds))  # any of many values, all alike
    assert not reported(log_odds)[~wrong[:, 3], 3].any()


def test_a_value_that_is_rare_wherever_it_stands_is_not_odd():
    log_odds, wrong = dirty(0.01, seed=2)
    values = np.zeros(log_odds.shape, np.int64)
    log_odds[:40, 3], values[:40, 3], wrong[:40, 3] = 9.0, 1, False  # one cell in a hundred, each as unlikely
    log_odds[40, 3], values[40, 3], wrong[40, 3] = 9.0, 0, True  # a common value that does not fit here
    oddness = beyond_usual(log_odds, values)
    chosen = CellTail.of(oddness).select(oddness, 0.1)
    assert not chosen[:40, 3].any()
    assert chosen[40, 3]


def test_wrong_cells_with_a_rare_value_do_not_make_it_usual():
    log_odds, wrong = dirty(0.01, seed=2)
    values = np.zeros(log_odds.shape, np.int64)
    values[:100, 3] = 1
    log_odds[:40, 3], wrong[:40, 3] = 0.5, False  # it fits in 40 rows
    log_odds[40:100, 3], wrong[40:100, 3] = 9.0, True  # and stands in 60 others by mistake
    oddness = beyond_usual(log_odds, values)
    assert CellTail.of(oddness).select(oddness, 0.1)[40:100, 3].all()


def test_what_is_usual_for_column_and_value_is_not_taken_off_twice():
    rng = np.random.default_rng(3)
    log_odds, values = rng.uniform(1.0, 4.0, (3000, 1)), rng.integers(0, 5, (3000, 1))  # each value is hard to predict
    of_column = beyond_usual(log_odds, np.full(values.shape, -1))
    np.testing.assert_allclose(beyond_usual(log_odds, values), of_column)


def test_p_values_fall_with_oddness_and_stay_within_bounds():
    tail = CellTail.of(dirty(0.02, seed=4)[0] - 1.0)
    p_value = tail.p_values(np.linspace(-2.0, 40.0, 200)[:, None])[:, 0]
    assert (np.diff(p_value) <= 0).all()
    assert 0 < p_value.min() <= p_value.max() <= 1


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1), (30, 2)])
def test_files_of_hardly_any_cells_report_none(shape):
    assert not reported(np.zeros(shape)).any()


def test_a_rate_that_makes_no_sense_is_refused():
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        reported(np.zeros((3, 2)), rate=1.0)
