"""The simulation of Theorem 1: exact where it claims to be, and what it shows is there."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from maskdiff.bench.figures.guarantees import CopiesScores, simulate
from maskdiff.bench.figures.mean_gap import mean_gap
from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies


def brute_force(scores: CopiesScores, row: np.ndarray, n_levels: int) -> float:
    """S*(x) as a sum over all masks."""
    oracle = NoisyCopiesOracle(scores.length, scores.flip)
    total = 0.0
    for rate in np.arange(1, n_levels + 1) / (n_levels + 1):
        for mask in product([False, True], repeat=scores.length):
            hidden = np.array(mask)
            chance = np.prod(np.where(hidden, rate, 1 - rate))
            surprise = -oracle.log_prob(row[None], ~hidden)[0].sum() / max(hidden.sum(), 1)
            total += chance * surprise / n_levels
    return total


@pytest.mark.parametrize("n_ones", [0, 2, 5])
def test_the_expected_score_is_the_sum_over_all_masks(n_ones: int) -> None:
    scores = CopiesScores(length=5, flip=0.15)
    row = np.random.default_rng(0).permutation(np.arange(5) < n_ones).astype(np.int64)
    found = scores.expected(np.array([n_ones]), 3)
    assert found == pytest.approx([brute_force(scores, row, 3)])


def test_sampled_scores_scatter_about_the_expected_one() -> None:
    scores, rows = CopiesScores(length=6), np.full(4000, 2)
    sampled = scores.sampled(rows, 3, 5, np.random.default_rng(0))
    assert sampled.mean() == pytest.approx(scores.expected(rows[:1], 3)[0], abs=4 * sampled.std() / 4000**0.5)
    assert sampled.std() > 0.01
    assert 0 <= sampled.min() <= sampled.max() <= scores.ceiling


def test_the_theorem_fails_where_levels_are_many() -> None:
    table = simulate((4096,), n_rows=100)
    for error in ("false_alarms", "misses"):
        assert table.loc[0, error] > 3 * table.loc[0, f"{error}_theorem"]


def test_the_bounds_that_keep_the_rows_hold() -> None:
    n_rows = 1000
    table = simulate((1, 4, 16, 64), n_rows=n_rows)
    for error in ("false_alarms", "misses"):
        chance = 3 * (table[error] * (1 - table[error]) / n_rows) ** 0.5
        assert (table[error] <= table[f"{error}_bound"] + chance).all()
    assert (table["misses_bound"] < 0.1).any()


def test_a_model_that_errs_is_bounded_by_its_error_which_is_known_exactly() -> None:
    model = CopiesScores(length=6, believed=0.2)
    rows = make_noisy_copies(20_000, 0, length=6, flip=model.flip)[0].to_numpy(dtype=np.int64).sum(axis=1)
    raised = model.expected(rows, 4) - model.true.expected(rows, 4)
    assert raised.mean() == pytest.approx(model.model_error(4), abs=4 * raised.std() / 20_000**0.5)
    assert model.model_error(4) > 0.005
    assert model.true.model_error(4) == 0
    table = simulate((4, 64), n_rows=500)
    assert (table["false_alarms_model"] <= table["bound_model"]).all()
    assert table["bound_model"].iloc[1] < 0.5


@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_the_gap_of_the_means_is_a_divergence(rate: float) -> None:
    gap, divergence = mean_gap(NoisyCopiesOracle(length=4, flip=0.15), rate)
    assert gap == pytest.approx(divergence)
    assert gap > 0.1


def test_what_the_theorem_takes_for_shrinking_with_the_levels_does_not_shrink() -> None:
    table = simulate((16, 256), n_rows=400).set_index("size")
    assert table.loc[256, "spread_of_rows"] > 0.9 * table.loc[16, "spread_of_rows"]
    assert table.loc[256, "spread_of_views"] < 0.1 * table.loc[16, "spread_of_views"]


def test_calibration_keeps_its_promise_whatever_the_levels_and_views() -> None:
    table = simulate((1, 4, 16), n_rows=1500, rate=0.1)
    assert (table["conformal"] <= 0.1 + 0.02).all()
