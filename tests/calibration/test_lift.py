"""Rows that are odd as a whole and rows with one odd cell share one alarm, whose rate is promised exactly."""

import numpy as np
import pytest

from maskdiff.calibration import Calibration, Lift
from maskdiff.errors import SettingError


def normal_rows(n, rng):
    """Scores and oddest cells of normal rows, which depend on each other and have tails of different kinds."""
    common = rng.normal(size=n)
    return common + rng.normal(size=n), np.exp(0.5 * common + rng.normal(size=n))


def test_a_row_is_never_lowered_and_only_raised_by_a_cell_in_the_tail():
    rng = np.random.default_rng(0)
    scores, oddest = normal_rows(1000, rng)
    lift = Lift.of(scores, oddest, share=0.4)
    raised = lift.alarm_score(scores, oddest)
    assert (raised >= scores).all()
    np.testing.assert_array_equal(raised[oddest <= lift.cell_start], scores[oddest <= lift.cell_start])
    assert 0.15 < (oddest > lift.cell_start).mean() < 0.25


def test_it_rises_with_the_oddest_cell():
    lift = Lift.of(*normal_rows(500, np.random.default_rng(1)), share=0.5)
    raised = lift.alarm_score(np.zeros(50), np.linspace(lift.cell_start, 100, 50))
    assert (np.diff(raised) >= 0).all()
    assert raised[-1] > lift.row_start + 5 * lift.row_excess


def test_the_threshold_of_cells_is_where_a_cell_alone_raises_an_alarm():
    lift = Lift.of(*normal_rows(500, np.random.default_rng(2)), share=0.4)
    threshold = lift.row_start + 3 * lift.row_excess
    cell = lift.cell_threshold(threshold)
    beside = lift.alarm_score(np.full(2, -50.0), np.array([cell - 1e-6, cell + 1e-6]))
    assert (beside > threshold).tolist() == [False, True]


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_both_ways_together_keep_the_promised_rate(share):
    """Simulated: the lift is set by other rows than those that calibrate."""
    rng, alarms = np.random.default_rng(3), []
    for _ in range(300):
        lift = Lift.of(*normal_rows(60, rng), share=share)
        calibration = Calibration.from_scores(lift.alarm_score(*normal_rows(199, rng)))
        alarms.append((lift.alarm_score(*normal_rows(200, rng)) > calibration.threshold(0.05)).mean())
    error = np.std(alarms) / np.sqrt(len(alarms))
    assert abs(np.mean(alarms) - 0.05) < 4 * error + 1e-3


def test_a_larger_share_gives_single_cells_more_of_the_alarms():
    rng = np.random.default_rng(4)
    tuning, rows = normal_rows(2000, rng), normal_rows(20_000, rng)

    def by_cells(share):
        raised = Lift.of(*tuning, share=share).alarm_score(*rows)
        above = raised > np.quantile(raised, 0.99)
        return (raised > rows[0])[above].mean()

    assert by_cells(0.1) < by_cells(0.5) < by_cells(0.9)


def test_rows_that_are_all_alike_give_a_finite_lift():
    lift = Lift.of(np.full(10, 2.0), np.zeros(10), share=0.4)
    assert np.isfinite(lift.alarm_score(np.array([2.0]), np.array([5.0]))).all()


@pytest.mark.parametrize("wrong", [{"share": 1.0}, {"row_excess": 0.0}, {"cell_start": np.inf}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(SettingError):
        Lift(**({"row_start": 0.0, "row_excess": 1.0, "cell_start": 0.0, "cell_excess": 1.0, "share": 0.4} | wrong))
