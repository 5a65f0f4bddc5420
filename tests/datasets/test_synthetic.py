from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.errors import InputError, SettingError

ALL_ROWS = np.array(list(product((0, 1), repeat=5)))


def probabilities_of_whole_rows(flip: float) -> np.ndarray:
    """q0 of every row of five bits, summed over the hidden bit."""
    return sum(0.5 * np.where(s == ALL_ROWS, 1 - flip, flip).prod(axis=1) for s in (0, 1))


@pytest.mark.parametrize("flip", [0.08, 0.3, 0.9])
def test_the_oracle_agrees_with_enumeration_for_every_row_and_every_mask(flip):
    q0 = probabilities_of_whole_rows(flip)
    masks = ALL_ROWS.astype(bool)
    answers = NoisyCopiesOracle(5, flip).log_prob(ALL_ROWS[:, None, :], masks)
    assert answers.shape == (32, 32, 5)
    for (b, row), (k, visible) in product(enumerate(ALL_ROWS), enumerate(masks)):
        agreeing = ((row == ALL_ROWS) | ~visible).all(axis=1)
        same_bit = row == ALL_ROWS[agreeing]
        expected = (q0[agreeing, None] * same_bit).sum(axis=0) / q0[agreeing].sum()
        np.testing.assert_allclose(np.exp(answers[b, k]), expected, rtol=1e-12)


def test_masks_broadcast_over_rows_and_views():
    oracle = NoisyCopiesOracle(6)
    X, _ = make_noisy_copies(4, length=6)
    codes = X.to_numpy()
    masks = np.random.default_rng(0).random((4, 3, 6)) < 0.5
    answers = oracle.log_prob(codes, masks)
    assert answers.shape == (4, 3, 6)
    for k in range(3):
        np.testing.assert_array_equal(answers[:, k], oracle.log_prob(codes, masks[:, k]))
    np.testing.assert_array_equal(oracle.log_prob(codes, masks[:1])[2], oracle.log_prob(codes[[2]], masks[0]))


def test_with_nothing_visible_every_bit_is_even():
    answers = NoisyCopiesOracle(3).log_prob(np.array([[0, 1, 1]]), np.zeros(3, dtype=bool))
    np.testing.assert_allclose(answers, np.log(0.5))


def test_long_rows_of_small_integers_neither_overflow_nor_underflow():
    codes = np.ones((1, 4000), dtype=np.uint8)
    codes[0, 0] = 0
    visible = np.arange(4000) > 0
    answer = NoisyCopiesOracle(4000, 0.01).log_prob(codes, visible)[0, 0]
    assert answer == pytest.approx(np.log(0.01))


def test_a_row_of_another_length_is_refused():
    with pytest.raises(InputError, match="rows of 40 bits; codes has 3"):
        NoisyCopiesOracle().log_prob(np.zeros((1, 3), dtype=int), np.zeros(3, dtype=bool))


def test_the_same_seed_repeats_and_columns_are_named_bits():
    X, y = make_noisy_copies(50, seed=4, mixture=0.5)
    again, y_again = make_noisy_copies(50, seed=4, mixture=0.5)
    assert X.equals(again)
    assert y.tolist() == y_again.tolist()
    assert list(X.columns) == [f"bit_{j}" for j in range(40)]
    assert set(X.dtypes) == {np.dtype("int8")}
    assert not X.equals(make_noisy_copies(50, seed=5, mixture=0.5)[0])


@pytest.mark.parametrize(("mixture", "share"), [(1.0, 0.0), (0.0, 1.0), (0.7, 0.3)])
def test_the_mixture_says_how_many_rows_are_normal(mixture, share):
    _, y = make_noisy_copies(20_000, mixture=mixture)
    assert y.mean() == pytest.approx(share, abs=0.015 * (0 < share < 1))


def test_only_the_target_bit_contradicts_the_others_and_its_marginal_is_unchanged():
    X, y = make_noisy_copies(20_000, seed=1, mixture=0.5, target=7)
    majority = X.mean(axis=1) > 0.5
    agreement = X.astype(bool).eq(majority, axis=0).groupby(y).mean()
    assert np.allclose(agreement.loc[0], 0.92, atol=0.02)
    assert np.allclose(agreement.loc[1].drop("bit_7"), 0.92, atol=0.02)
    assert agreement.loc[1, "bit_7"] == pytest.approx(0.08, abs=0.02)
    assert np.allclose(X.groupby(y).mean(), 0.5, atol=0.02)


def test_anomalies_surprise_the_oracle_at_the_target():
    X, y = make_noisy_copies(2000, mixture=0.5, target=2)
    hidden_target = np.arange(40) != 2
    surprise = -NoisyCopiesOracle().log_prob(X.to_numpy(), hidden_target)[:, 2]
    entropy = -(0.92 * np.log(0.92) + 0.08 * np.log(0.08))
    assert surprise[y == 0].mean() == pytest.approx(entropy, abs=0.08)
    assert surprise[y == 1].mean() == pytest.approx(-(0.08 * np.log(0.92) + 0.92 * np.log(0.08)), abs=0.08)


@pytest.mark.parametrize("setting", [{"mixture": 1.5}, {"target": 40}, {"flip": 0.0}, {"length": 0}, {"n": -1}])
def test_settings_that_make_no_sense_are_refused(setting):
    with pytest.raises(SettingError, match="noisy copies want"):
        make_noisy_copies(**setting)
