"""Short rows are judged together with typical cells, which steadies their scores."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.errors import SettingError
from maskdiff.score import CellScores, Typical


def test_typical_cells_are_judged_with_a_rows_own():
    surprise, weight = np.array([[9.0, 3.0, 0.0]]), np.array([[0.5, 0.5, 0.0]])
    typical = Typical(2.0, cells=6.0)
    assert CellScores(surprise, weight).contributions("mean", typical).sum() == pytest.approx((12 + 6 * 2) / 8)
    squares = (81 + 9 + 6 * 4) / 8
    assert CellScores(surprise, weight).contributions("rms", typical).sum() == pytest.approx(squares**0.5)


def test_the_longer_a_row_the_less_typical_cells_weigh():
    def score(n):
        cells = CellScores(np.full((1, n), 5.0), np.full((1, n), 1 / n))
        return cells.contributions("rms", Typical(2.0)).sum()

    assert 2 < score(1) < score(20) < score(2000) < 5
    assert score(20) == pytest.approx(((25 + 4) / 2) ** 0.5)


def test_windows_of_a_row_are_judged_with_typical_cells_once():
    whole = CellScores(np.full((1, 8), 5.0), np.full((1, 8), 1 / 8))
    cut = CellScores(np.full((2, 4), 5.0), np.full((2, 4), 1 / 8), np.array([0, 0]))
    typical = Typical(2.0)
    assert cut.contributions("rms", typical).sum() == pytest.approx(whole.contributions("rms", typical).sum())


def test_typical_surprise_is_that_of_all_cells_of_normal_rows():
    surprise, weight = np.array([[1.0, 5.0], [3.0, 100.0], [np.nan, np.nan]]), np.array([[0.5, 0.5], [1, 0], [0, 0]])
    assert Typical.of(CellScores(surprise, weight), "mean").surprise == pytest.approx(3)
    assert Typical.of(CellScores(surprise, weight), "rms").surprise == pytest.approx((35 / 3) ** 0.5)


def test_rows_of_which_no_view_hides_a_cell_have_no_typical_surprise():
    with pytest.raises(SettingError, match="more views"):
        Typical.of(CellScores(np.ones((2, 3)), np.zeros((2, 3))), "rms")


@pytest.mark.parametrize("aggregate", ["max", "log_mean_exp"])
def test_only_averages_can_be_steadied(aggregate):
    with pytest.raises(SettingError, match="only mean and rms can be steadied"):
        Typical(1.0).steadied(aggregate)
