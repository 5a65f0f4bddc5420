"""Promises of what all rounds say together, and of numbers far outside of their columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskdiff
from maskdiff import TableDetector
from maskdiff.detectors.finding.judgement import Judgement, oddest, together

SCORES = np.random.default_rng(0).gamma(4.0, size=2000)


def test_one_round_stays_as_it_is_and_scales_of_rounds_do_not_matter():
    np.testing.assert_array_equal(together([SCORES]), SCORES)
    other = SCORES[::-1]
    np.testing.assert_allclose(together([SCORES, 100 * other]), together([SCORES, other]))
    np.testing.assert_allclose(together([SCORES, 3 * SCORES]), np.maximum(SCORES, 0.02))


def test_rows_without_evidence_stay_without_and_negative_scores_are_allowed():
    first, second = np.array([np.nan, -1.0, 0.0, 5.0]), np.array([np.nan, -2.0, 1.0, 7.0])
    score = together([first, second])
    assert np.isnan(score[0])
    assert np.isfinite(score[1:]).all()
    assert (np.diff(score[1:]) > 0).all()


def test_a_row_with_a_number_far_outside_is_raised_to_where_scores_are_as_rare():
    outlying = np.ones(len(SCORES))
    outlying[7], outlying[8] = 1e-3, 0.5
    judgement = Judgement.of([SCORES], "auto", outlying)
    without = Judgement.of([SCORES], "auto")
    assert judgement.score[7] == SCORES[7]
    assert judgement.alarm_score[7] > SCORES[7]
    assert judgement.p_value[7] == pytest.approx(2e-3)
    others = np.arange(len(SCORES)) != 7
    np.testing.assert_array_equal(judgement.alarm_score[others], SCORES[others])
    assert (judgement.p_value[others] >= without.p_value[others]).all()
    order = np.argsort(judgement.alarm_score)
    assert (np.diff(judgement.p_value[order]) <= 1e-12).all()


def test_rows_that_are_equally_far_outside_come_in_the_order_of_their_scores():
    outlying = np.ones(len(SCORES))
    outlying[:5] = 0.0
    judgement = Judgement.of([SCORES], "auto", outlying)
    assert np.argsort(-judgement.alarm_score)[:5].tolist() == np.argsort(-SCORES[:5]).tolist()


def test_of_equal_scores_all_or_none_are_the_oddest():
    score = np.array([1.0, 3.0, 3.0, 2.0, np.nan])
    assert oddest(score, 1).sum() == 0
    assert oddest(score, 2).tolist() == [False, True, True, False, False]


@pytest.fixture(scope="module")
def claims():
    table, fraud = maskdiff.datasets.make_claims(1500, seed=3)
    table = table[fraud == 0].reset_index(drop=True)
    table.loc[5, "Reg_year"] = 3010
    table.loc[[40, 41], "Runned_Miles"] = [-15306, -13791]
    return table


def test_impossible_numbers_are_selected_whatever_the_models_say(claims):
    findings = maskdiff.find(claims, detector=TableDetector("kernel"))
    found = np.flatnonzero(findings.is_anomaly)
    assert {5, 40, 41} <= set(found)
    assert len(found) <= 4
    assert set(findings.ranked().labels[: len(found)]) == set(found)
    assert findings.estimated_odd.low <= 3 <= findings.estimated_odd.high


def test_texts_and_few_numbers_have_no_outlying_ones():
    table = TableDetector()._read(pd.DataFrame({"pet": ["cat", "dog"] * 50, "legs": [4, 4, 4, 3] * 25}))
    detector = TableDetector()
    detector._look(lambda: [table], None)
    assert detector._outlying(lambda: [table]) is None
