"""Which effort a file is scored with."""

import pandas as pd
import pyarrow as pa
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.errors import SettingError
from maskdiff.jobs import ScoreOptions, score_batch

from ..detectors.test_efforts import rows_of

NETWORK = MLPReconstructor(16, 2, training=Training(Steps(40), learning_rate=3e-3))


@pytest.fixture(scope="module")
def detector():
    return TableDetector(NETWORK, cross_fit_up_to=0, progress=False).fit(rows_of(1200, 0))


def scored(detector, options=None) -> pd.DataFrame:
    return score_batch(detector, pa.RecordBatch.from_pandas(rows_of(100, 1)), options).to_pandas()


def judged(detector) -> pd.DataFrame:
    return detector.judge(rows_of(100, 1)).to_frame()


@pytest.mark.parametrize("effort", ["alarms", "auto", "full", 0.2])
def test_the_effort_that_is_set_is_taken(detector, effort):
    score = scored(detector, ScoreOptions(effort=effort))["anomaly_score"]
    assert score.tolist() == pytest.approx(judged(detector.with_effort(effort))["anomaly_score"].tolist())


def test_files_are_scored_for_their_alarms_unless_the_detector_was_set_otherwise(detector):
    lazy, own = judged(detector.with_effort("alarms")), judged(detector)
    assert scored(detector)["anomaly_score"].tolist() == pytest.approx(lazy["anomaly_score"].tolist())
    assert lazy["anomaly_score"].tolist() != pytest.approx(own["anomaly_score"].tolist())
    whole = detector.with_effort("full")
    assert scored(whole)["anomaly_score"].tolist() == pytest.approx(judged(whole)["anomaly_score"].tolist())


def test_an_effort_that_is_none_is_refused():
    with pytest.raises(SettingError, match="effort must be one of"):
        ScoreOptions(effort="quick")
