"""Promises of the count of odd rows: what the bulk does not explain, and nothing where it explains all."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.detectors.finding.tail import PowerTail, SkewedTail, TailCounts

DRAWN = {
    "normal": lambda rng, n: 10 + rng.normal(size=n),
    "lognormal": lambda rng, n: np.exp(0.4 * rng.normal(size=n)),
    "gamma": lambda rng, n: rng.gamma(4.0, size=n),
}


def expected_of_the_highest(scores, number):
    counts = TailCounts.of(scores)
    return counts.normal[np.argsort(-scores)[:number]].sum()


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_normal_rows_alone_leave_next_to_nothing_over(name, seed):
    scores = DRAWN[name](np.random.default_rng(seed), 4000)
    counts = TailCounts.of(scores)
    assert counts.odd.low == 0
    assert counts.odd.number <= 40
    assert expected_of_the_highest(scores, 10) > 2


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("n_odd", [20, 200, 800])
def test_rows_that_stand_out_are_counted(name, n_odd):
    rng = np.random.default_rng(5)
    normal = DRAWN[name](rng, 4000)
    far = np.quantile(normal, 0.5) + 8 * (np.quantile(normal, 0.95) - np.quantile(normal, 0.5))
    scores = np.concatenate([normal, far + rng.exponential(size=n_odd)])
    odd = TailCounts.of(scores).odd
    assert odd.low <= n_odd <= odd.high
    assert 0.5 * n_odd <= odd.number <= n_odd + 60
    if n_odd <= 200:
        assert expected_of_the_highest(scores, n_odd) < 0.2 * n_odd


def test_a_tail_gives_back_the_distribution_it_was_fitted_to():
    z = np.sort(np.random.default_rng(0).normal(size=20_000))
    assert SkewedTail.of(1 + z, (0.02, 0.75)).share_above(np.array([3.0]))[0] == pytest.approx(0.0228, rel=0.4)
    assert SkewedTail.of(np.exp(0.5 * z), (0.02, 0.75)).share_above(np.exp([1.0]))[0] == pytest.approx(0.0228, rel=0.4)
    pareto = np.sort(np.random.default_rng(1).pareto(3.0, 20_000) + 1)
    assert PowerTail.of(pareto, (0.5, 0.85)).share_above(np.array([5.0]))[0] == pytest.approx(5**-3.0, rel=0.2)


def test_equal_scores_rows_without_evidence_and_no_rows_are_nothing_odd():
    assert TailCounts.of(np.full(100, 3.0)).odd.number == 0
    assert TailCounts.of(np.full(100, np.nan)).odd.number == 0
    assert TailCounts.of(np.empty(0)).odd.number == 0


def test_equal_scores_are_equally_likely_normal():
    scores = np.repeat([1.0, 1.2, 1.5, 9.0], [400, 300, 100, 6])
    normal = TailCounts.of(scores).normal
    assert all(len(np.unique(normal[scores == value])) == 1 for value in np.unique(scores))
