from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from maskdiff.explanations.repair_gain import by_repair_gain

Places = NDArray[np.int64]


class Repairs:
    """What is left of the log odds of all cells once a cell is repaired, by its field; counts what it is asked."""

    def __init__(self, left: dict[int, list[float]]) -> None:
        self.left, self.asked = left, 0

    def __call__(self, row: Places, field: Places) -> NDArray[np.float64]:
        self.asked += len(row)
        return np.array([self.left[one] for one in field])


def test_the_cell_comes_first_whose_repair_makes_the_others_likely() -> None:
    log_odds = np.array([[5.0, 4.8, 2.0, 0.0]])
    repairs = Repairs({0: [0.0, 4.8, 2.0, 0.0], 1: [0.0] * 4, 2: [5.0, 4.8, 0.0, 0.0], 3: [5.0, 4.8, 2.0, 0.0]})
    assert_array_equal(by_repair_gain(log_odds, log_odds, repairs), [[4.8, 5.0, 2.0, 0.0]])
    assert repairs.asked == 4


def test_a_much_stronger_reason_stays_first() -> None:
    log_odds = np.array([[9.0, 2.0, 2.0]])
    repairs = Repairs({0: [0.0, 2.0, 2.0], 1: [8.0, 0.0, 0.0], 2: [9.0, 2.0, 0.0]})
    assert_array_equal(by_repair_gain(log_odds, log_odds, repairs), log_odds)


def test_only_the_first_four_are_compared() -> None:
    log_odds = np.array([[1.0, 4.0, 3.9, 3.8, 3.7]])
    left = {1: [1.0, 0.0, 3.9, 3.8, 3.7], 2: [1.0, 4.0, 0.0, 3.8, 3.7], 3: [1.0, 4.0, 3.9, 0.0, 3.7], 4: [0.0] * 5}
    assert_array_equal(by_repair_gain(log_odds, log_odds, Repairs(left)), [[1.0, 3.9, 3.8, 3.7, 4.0]])


def test_a_repair_that_makes_others_unlikely_comes_last() -> None:
    log_odds = np.array([[4.0, 3.9, 0.0]])
    repairs = Repairs({0: [0.0, 3.9, 6.0], 1: [4.0, 0.0, 0.0], 2: [4.0, 3.9, 0.0]})
    assert_array_equal(by_repair_gain(log_odds, log_odds, repairs), [[3.9, 4.0, 0.0]])


def test_a_cell_that_is_no_reason_does_not_become_one() -> None:
    log_odds = np.array([[4.0, 3.0, 1.0]])
    strength = np.array([[4.0, 3.0, 0.0]])  # the third adds nothing to the score
    repairs = Repairs({0: [0.0, 3.0, 1.0], 1: [4.0, 0.0, 1.0], 2: [0.0, 0.0, 0.0]})
    assert_array_equal(by_repair_gain(strength, log_odds, repairs), strength)


@pytest.mark.parametrize("shape", [(2, 1), (0, 3), (2, 3)])
def test_rows_with_one_odd_cell_are_not_asked_about(shape: tuple[int, int]) -> None:
    log_odds = np.zeros(shape)
    log_odds[:, 0] = 5.0
    repairs = Repairs({})
    assert_array_equal(by_repair_gain(log_odds, log_odds, repairs), log_odds)
    assert repairs.asked == 0
