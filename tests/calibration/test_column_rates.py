"""Fine cells of columns that models are too sure about are not reported before wrong cells of other columns."""

import numpy as np
import pytest

from maskdiff.calibration import CellTail, on_one_scale


def file_of(seed, slow=1.0, wrong_share=0.01, shape=(10_000, 10)):
    """How far cells are beyond what is usual, in the first column `slow` times as far, and which of them are wrong."""
    rng = np.random.default_rng(seed)
    beyond = rng.exponential([slow, *np.ones(shape[1] - 1)], shape) - 3.0
    wrong = rng.random(shape) < wrong_share
    beyond[wrong] = rng.uniform(2.0, 14.0, int(wrong.sum()))
    return beyond, wrong


def fine_among_reported(oddness, wrong):
    chosen = CellTail.of(oddness).select(oddness, 0.1)
    return (chosen & ~wrong).sum() / chosen.sum(), chosen[wrong].mean()


def test_fine_cells_of_a_slow_column_are_no_longer_reported():
    files = [file_of(seed, slow=2.5) for seed in range(4)]
    before = np.mean([fine_among_reported(beyond, wrong) for beyond, wrong in files], axis=0)
    fine, found = np.mean([fine_among_reported(on_one_scale(beyond), wrong) for beyond, wrong in files], axis=0)
    assert before[0] > 0.3
    assert fine < 0.13
    assert found > 0.65


def test_where_all_columns_fall_alike_nothing_changes():
    beyond, _ = file_of(seed=4)
    np.testing.assert_array_equal(on_one_scale(beyond), beyond)


def test_errors_that_crowd_in_one_column_are_not_taken_for_a_slow_column():
    beyond, wrong = file_of(seed=5)
    rng = np.random.default_rng(6)
    crowded = rng.random(len(beyond)) < 0.03
    beyond[crowded, 2], wrong[crowded, 2] = rng.normal(4.5, 1.0, int(crowded.sum())), True
    np.testing.assert_array_equal(on_one_scale(beyond)[:, 2], beyond[:, 2])


def test_cells_keep_their_order_in_a_column_and_those_up_to_the_tail_their_value():
    beyond, _ = file_of(seed=7, slow=3.0)
    scaled = on_one_scale(beyond)
    np.testing.assert_array_equal(np.argsort(scaled, axis=0), np.argsort(beyond, axis=0))
    np.testing.assert_array_equal(scaled[beyond <= 1], beyond[beyond <= 1])
    assert (scaled <= beyond).all()


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1), (30, 2)])
def test_files_of_hardly_any_cells_stay_as_they_are(shape):
    beyond = np.full(shape, 0.5)
    np.testing.assert_array_equal(on_one_scale(beyond), beyond)
