"""What p-values, alarms and selections promise."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.errors import CalibrationError, NoEvidenceWarning

from .cases import CASES, judged, rows_scored_alike, scored

RATE = 0.05


def test_p_values_lie_above_zero_and_fall_as_scores_rise(case, detector):
    verdicts = judged(detector, case)
    assert ((verdicts.p_value > 0) & (verdicts.p_value <= 1)).all()
    assert (np.diff(verdicts.p_value[np.argsort(verdicts.alarm_score)]) <= 0).all()
    assert (verdicts.p_value >= detector.calibration_.finest_rate).all()


def test_alarms_are_the_scores_above_the_threshold(case, detector):
    verdicts = judged(detector, case, RATE)
    assert verdicts.is_anomaly.dtype == bool
    np.testing.assert_array_equal(verdicts.is_anomaly, verdicts.alarm_score > detector.threshold(RATE))
    np.testing.assert_array_equal(verdicts.is_anomaly, verdicts.p_value <= RATE)


def test_judge_agrees_with_every_single_question(case, detector):
    p_value = detector.p_value(case.rows)
    for rate in (None, RATE):
        verdicts = judged(detector, case, rate)
        np.testing.assert_array_equal(verdicts.anomaly_score, scored(detector, case))
        np.testing.assert_array_equal(verdicts.p_value, p_value)
        np.testing.assert_array_equal(verdicts.is_anomaly, detector.is_anomaly(case.rows, rate))


def test_verdicts_of_some_rows_are_those_of_these_rows_alone(case, detector):
    verdicts = judged(detector, case, RATE)
    chosen = np.array(rows_scored_alike(detector))
    some, alone = verdicts.take(chosen), detector.judge(case.rows.iloc[chosen], RATE)
    np.testing.assert_allclose(some.anomaly_score, alone.anomaly_score, rtol=1e-5)
    np.testing.assert_array_equal(some.p_value, verdicts.p_value[chosen])
    np.testing.assert_array_equal(some.is_anomaly, alone.is_anomaly)
    assert verdicts.take(verdicts.is_anomaly).is_anomaly.all()


def test_selection_is_benjamini_and_hochbergs_on_all_rows_together(case, detector):
    chosen = detector.select(case.rows, 0.3)
    assert chosen.dtype == bool
    np.testing.assert_array_equal(chosen, detector.calibration_.select(judged(detector, case).alarm_score, 0.3))


def test_a_rate_finer_than_the_calibration_rows_allow_is_refused(case, detector):
    with pytest.raises(CalibrationError, match="needs at least 9,999 calibration rows"):
        detector.is_anomaly(case.rows, 0.0001)


def test_scikit_learns_methods_carry_scikit_learns_signs(case, detector):
    score = judged(detector, case).alarm_score
    np.testing.assert_array_equal(detector.score_samples(case.rows), -score)
    np.testing.assert_allclose(detector.decision_function(case.rows), detector.threshold() - score, atol=1e-12)
    np.testing.assert_array_equal(detector.predict(case.rows), np.where(detector.is_anomaly(case.rows), -1, 1))


# Every row of a table holds evidence: a missing or unseen value is a value too.
@pytest.mark.parametrize("case", [case for case in CASES.values() if len(case.without_evidence)], ids=lambda c: c.name)
def test_a_row_without_evidence_has_no_score_and_is_never_an_alarm(case, detector):
    empty = case.without_evidence
    with pytest.warns(NoEvidenceWarning, match=f"{len(empty)} rows hold no tokens"):
        verdicts = detector.judge(empty)
    assert np.isnan(verdicts.anomaly_score).all()
    assert verdicts.p_value.tolist() == [1.0] * len(empty)
    assert not verdicts.is_anomaly.any()
    with pytest.warns(NoEvidenceWarning):
        assert np.isnan(detector.contributions(empty)).all()
    with pytest.warns(NoEvidenceWarning):
        assert detector.predict(empty).tolist() == [1] * len(empty)
    with pytest.warns(NoEvidenceWarning):
        assert not detector.select(empty, 0.5).any()
    assert len(detector.explain(empty, verdicts=verdicts)) == 0
