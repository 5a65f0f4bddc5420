"""Values that are common in their column are no errors because a model takes them for impossible."""

import numpy as np
import pytest

from maskdiff.calibration import drawn_to_common

SIZE = 6


def column_of(seed, share, n=4000, wrong=40):
    """Log odds and log ratios of a column that a model is too sure about, and which cells are wrong.

    Each value follows from the rest of its row, but for `share` of the cells, which hold any value. To the model all
    others are one in 10,000. The first cells hold values never seen.
    """
    rng = np.random.default_rng(seed)
    follows = rng.random(n) >= share
    own = np.where(follows, 0.999, 1e-4)
    in_column = np.full(n, 1 / SIZE)
    own[:wrong], in_column[:wrong] = 1e-4, 0.5 / n
    odds = np.where(own < 0.5, np.log(0.999 / own), 0.0)
    return odds[:, None], np.log(in_column / own)[:, None], np.arange(n) < wrong


def test_common_values_are_as_likely_as_they_are_often_seen_where_a_model_knows_better():
    odds, ratio, wrong = column_of(0, share=0.2)
    drawn = drawn_to_common(odds, ratio)[:, 0]
    unlikely = (odds[:, 0] > 0) & ~wrong
    # One cell in five, and of those one in six.
    assert np.exp(-drawn[unlikely]).max() == pytest.approx(0.2 / SIZE, rel=0.5)
    assert (drawn[wrong] > drawn[unlikely].max() + 2).all()


def test_where_values_follow_from_the_rest_of_the_row_others_stay_odd():
    odds, ratio, _ = column_of(1, share=0.0)
    np.testing.assert_array_equal(drawn_to_common(odds, ratio), odds)


def test_wrong_cells_do_not_make_each_other_usual():
    odds, ratio, _ = column_of(2, share=0.03)  # hold another value of the column
    np.testing.assert_array_equal(drawn_to_common(odds, ratio), odds)


def test_no_cell_becomes_odder_and_texts_stay_as_they_are():
    odds, ratio, _ = column_of(3, share=0.3)
    odds[::7] = 1.0  # likelier by the rest of the row than by the column
    ratio[::7] = -2.0
    texts = drawn_to_common(odds, np.full(odds.shape, -np.inf))
    np.testing.assert_array_equal(texts, odds)
    drawn = drawn_to_common(odds, ratio)
    assert (drawn <= odds).all()
    np.testing.assert_array_equal(drawn[::7], odds[::7])


@pytest.mark.parametrize("shape", [(0, 3), (4, 0), (1, 1)])
def test_files_of_hardly_any_cells_stay_as_they_are(shape):
    odds = np.full(shape, 0.5)
    np.testing.assert_array_equal(drawn_to_common(odds, np.zeros(shape)), odds)
