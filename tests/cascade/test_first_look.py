"""A first look: its scale, its cutoff, and what it promises."""

import numpy as np
import pytest

from maskdiff.calibration import Calibration
from maskdiff.cascade.first_look import FirstLook, LearnedLook, marked, passes
from maskdiff.errors import ModelFileError
from maskdiff.evidence import Evidence, EvidenceTerm

TERMS = (EvidenceTerm("cheap", "mean"), EvidenceTerm("near", "mean", weight=1.5))


def looked_at(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows as two terms see them, and their scores."""
    rng = np.random.default_rng(seed)
    score = rng.gamma(3.0, size=n)
    return score, score + rng.normal(0, 0.7, n), 5 * score + rng.normal(0, 4.0, n)


def learned(n: int = 1000, seed: int = 0) -> LearnedLook:
    score, one, other = looked_at(n, seed)
    none = np.zeros(n, np.bool_)
    return LearnedLook.of(Evidence({}, TERMS), np.stack([one, other], axis=1), score, lambda scores: scores, none)


def first_of(look: LearnedLook, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return sum(part / term.scale + term.shift for part, term in zip((one, other), look.terms, strict=True))


def test_a_look_has_the_mean_and_the_spread_of_the_scores():
    look, (score, one, other) = learned(), looked_at(1000)
    first = first_of(look, one, other)
    assert first.mean() == pytest.approx(score.mean())
    assert first.std() == pytest.approx(score.std())
    np.testing.assert_allclose(look.tuning, np.sort(first))


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_about_the_share_of_normal_rows_is_above_the_cutoff(share):
    look = learned()
    _, one, other = looked_at(5000, seed=1)
    assert passes(first_of(look, one, other), look.cutoff(share)).mean() == pytest.approx(share, abs=0.03)


def test_rows_that_are_equal_but_for_their_last_digits_go_the_same_way():
    look = LearnedLook((), np.sort(np.repeat([1.0, 2.0, 3.0], 50) + np.random.default_rng(0).normal(0, 1e-7, 150)))
    for share in (0.1, 0.34, 0.5, 0.9):
        cutoff = look.cutoff(share)
        assert np.abs(look.tuning - cutoff).min() > 1e-5


def test_the_share_that_gets_the_whole_grid_does_not_grow_where_many_rows_are_equal():
    look = LearnedLook((), np.array([1.0] * 380 + [2.0] * 20))
    assert passes(look.tuning, look.cutoff(0.05)).sum() == 20
    assert not passes(np.ones(100), LearnedLook((), np.ones(100)).cutoff(0.05)).any()


def test_few_rows_that_tuned_let_more_rows_pass():
    assert passes(np.arange(50.0), LearnedLook((), np.arange(50.0)).cutoff(0.03)).sum() == 10


def test_rows_with_an_unseen_value_or_without_evidence_always_pass():
    first = marked(np.array([0.0, np.nan, 0.0]), np.array([True, False, False]))
    assert passes(first, 3.0).tolist() == [True, True, False]
    assert passes(first, learned_from_unseen_rows().cutoff(0.05)).tolist() == [True, True, False]


def learned_from_unseen_rows() -> LearnedLook:
    return LearnedLook((), np.sort(marked(np.arange(60.0), np.arange(60) % 2 == 0)))


def test_false_alarms_are_promised_exactly_when_calibration_rows_walk_the_same_way():
    """Over many draws of 19 calibration rows, one new row in twenty is above the threshold for 5%."""
    look, alarms, n_draws, share = learned(200), 0, 4000, 0.1
    cutoff = look.cutoff(share)
    for seed in range(n_draws):
        score, one, other = looked_at(20, seed=10 + seed)
        first = first_of(look, one, other)
        order = np.argsort(score[:19])
        calibration = FirstLook(look, first[:19][order]).scores(score[:19][order], share)
        new = score[19] if passes(first[19:], cutoff)[0] else first[19]
        alarms += Calibration.from_scores(calibration).threshold(0.05) < new
    assert alarms / n_draws == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / n_draws))


def test_state_is_kept_and_checked():
    look = FirstLook(learned(60), np.linspace(0, 5, 30))
    plain, tensors = look.to_state()
    again = FirstLook.from_state(plain, tensors, 30, {"cheap", "near"})
    np.testing.assert_array_equal(again.calibration, look.calibration)
    assert again.learned.terms == look.learned.terms
    for bad, n, sources in (
        ({**tensors, "tuning": tensors["tuning"].flip(0)}, 30, {"cheap", "near"}),
        ({**tensors, "calibration": tensors["calibration"] * float("nan")}, 30, {"cheap", "near"}),
        (tensors, 31, {"cheap", "near"}),
        (tensors, 30, {"cheap"}),
        ({"tuning": tensors["tuning"]}, 30, {"cheap", "near"}),
    ):
        with pytest.raises(ModelFileError):
            FirstLook.from_state(plain, bad, n, sources)
