"""Every detector learns on: from memory and after a trip through a file, with the promise and the contract kept."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest

from maskdiff import load, save
from maskdiff.errors import CoarserRateWarning

from .cases import fitted

ORIGINS = ("fit", "fit, loaded")


def new_rows(case):
    """Normal rows that were not learned from."""
    return pd.concat([case.fresh] * 3, ignore_index=True)


@pytest.fixture
def updated(case, model_folder):
    """The detector of this case as fitted and as loaded, each after the same update, and what changed."""
    found = {}
    for origin in ORIGINS:
        detector = copy.copy(fitted(case.name, origin, model_folder))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CoarserRateWarning)  # so few rows promise less once some are kept apart
            found[origin] = detector, detector.update(new_rows(case))
    return found


def test_an_update_keeps_what_a_detector_promises(case, updated, model_folder, tmp_path):
    (detector, summary), (again, _) = updated.values()
    before = fitted(case.name, "fit", model_folder)
    verdicts = detector.judge(case.rows)
    assert summary.rows == len(new_rows(case))
    assert detector.judge(new_rows(case)).seen.all()
    np.testing.assert_allclose(
        verdicts.anomaly_score, [part.sum() for part in detector.contributions(case.rows)], rtol=1e-5, atol=1e-8
    )
    # The same from memory and from a file, and after the next trip.
    np.testing.assert_array_equal(again.anomaly_score(case.rows), verdicts.anomaly_score)
    save(detector, tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.judge(case.rows).p_value, verdicts.p_value)
    assert loaded.updates_ == detector.updates_ == (summary.shortened(),)
    # The fitted detector stays as it was.
    assert before.updates_ == ()
    assert before.threshold() == summary.threshold_before
