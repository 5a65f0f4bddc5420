"""Promises of the count of odd rows: what the bulk does not explain, and nothing where it explains all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from maskdiff.detectors.finding.tail import OddEstimate, PowerTail, TailCounts

DRAWN = {
    "normal": lambda rng, n: 10 + rng.normal(size=n),
    "lognormal": lambda rng, n: np.exp(0.4 * rng.normal(size=n)),
    "gamma": lambda rng, n: rng.gamma(4.0, size=n),
    "heavy": lambda rng, n: rng.pareto(3.0, n) + 1,
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_normal_rows_alone_leave_next_to_nothing_over(name, seed):
    scores = DRAWN[name](np.random.default_rng(seed), 4000)
    counts = TailCounts.of(scores)
    p_value = counts.p_values(scores)
    assert counts.n_odd <= 40
    assert OddEstimate.of(counts.n_odd, p_value).low == 0
    assert p_value.min() > 2e-5


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("n_odd", [20, 200, 800])
def test_rows_that_stand_out_are_counted(name, n_odd):
    rng = np.random.default_rng(5)
    normal = DRAWN[name](rng, 4000)
    far = np.quantile(normal, 0.5) + 8 * (np.quantile(normal, 0.95) - np.quantile(normal, 0.5))
    scores = np.concatenate([normal, far + rng.exponential(size=n_odd)])
    counts = TailCounts.of(scores)
    odd = OddEstimate.of(counts.n_odd, counts.p_values(scores))
    assert odd.low <= n_odd <= odd.high
    if n_odd <= 200:
        assert 0.5 * n_odd <= odd.number <= n_odd + 60


def test_a_tail_gives_back_the_distribution_it_was_fitted_to():
    pareto = np.sort(np.random.default_rng(1).pareto(3.0, 20_000) + 1)
    assert PowerTail.of(pareto).share_above(np.array([5.0]))[0] == pytest.approx(5**-3.0, rel=0.2)


def test_a_share_that_is_given_sets_the_bulk_apart():
    """The bulk of 80% normal rows is fitted, so fewer of them are expected far out than if all were normal."""
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.gamma(4.0, size=4000), 12 + rng.exponential(size=1000)])
    given, unknown = (TailCounts.of(scores, n_odd) for n_odd in (1000, 0))
    assert given.p_values(scores)[4000:].max() < unknown.p_values(scores)[4000:].max()
    assert given.n_odd == 1000


def test_equal_scores_rows_without_evidence_and_no_rows_are_nothing_odd():
    assert TailCounts.of(np.full(100, 3.0)).n_odd == 0
    assert TailCounts.of(np.full(100, np.nan)).n_odd == 0
    assert TailCounts.of(np.empty(0)).n_odd == 0


@pytest.mark.parametrize("steepness", [2.6, 3.0, 3.4])
def test_rare_rows_of_a_table_of_copies_are_not_odd(steepness):
    """Most rows are copies of a few; the rare ones score higher, each by how rare it is, and none is odd."""
    copies = np.maximum(40_000 / np.arange(1, 61) ** steepness, 1).astype(int)
    distinct = -np.log(copies / copies.sum()) + np.random.default_rng(0).normal(scale=0.3, size=60)
    scores = np.repeat(distinct, copies)
    counts = TailCounts.of(scores)
    assert counts.n_odd == 0
    assert not (false_discovery_control(counts.p_values(scores)) <= 0.1).any()


def test_frequent_rows_are_normal_however_high_they_score():
    rng = np.random.default_rng(4)
    scores = np.concatenate([rng.gamma(4.0, size=2000), np.repeat(400.0, 50), [380.0]])
    frequent = scores == 400.0
    alone, known = TailCounts.of(scores), TailCounts.of(scores, frequent=frequent)
    assert (false_discovery_control(alone.p_values(scores)) <= 0.1)[frequent].all()
    assert not (false_discovery_control(known.p_values(scores)) <= 0.1).any()
    assert known.n_odd <= 2 < 50 <= alone.n_odd


def test_copies_of_an_odd_row_are_counted_with_it():
    rng = np.random.default_rng(3)
    scores = np.concatenate([rng.gamma(4.0, size=2000), np.repeat([400.0, 410.0, 420.0], [5, 1, 4])])
    counts = TailCounts.of(scores)
    assert 10 <= counts.n_odd <= 12
    assert counts.p_values(scores)[2000:].max() < 1e-4
    assert TailCounts.of(scores, n_odd=10).n_odd == 10


def test_equal_scores_are_equally_likely_normal():
    scores = np.repeat([1.0, 1.2, 1.5, 9.0], [400, 300, 100, 6])
    counts = TailCounts.of(scores)
    for given in (counts.normal, counts.p_values(scores)):
        assert all(len(np.unique(given[scores == value])) == 1 for value in np.unique(scores))
