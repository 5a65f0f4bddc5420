"""What fitting, settings and model files promise."""

from __future__ import annotations

import inspect
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maskdiff import load, save

from .cases import CASES, fitted
from .model_files import contents


@pytest.fixture
def from_memory(case, model_folder):
    return fitted(case.name, "fit", model_folder)


@cache
def fitted_again(name, model_folder):
    """A second fit, the rows after it, and the state of the global generator before and after."""
    rows = CASES[name].normal.copy(deep=True)
    torch.manual_seed(99)  # what the global generator did in between does not matter
    before = torch.get_rng_state()
    detector = clone(fitted(name, "fit", model_folder)).fit(rows)
    return detector, rows, before, torch.get_rng_state()


def test_the_same_seed_repeats_exactly(case, from_memory, model_folder, tmp_path):
    again, *_ = fitted_again(case.name, model_folder)
    assert contents(again, tmp_path) == contents(from_memory, tmp_path)
    np.testing.assert_array_equal(again.anomaly_score(case.rows), from_memory.anomaly_score(case.rows))


def test_another_seed_gives_another_detector_where_anything_is_drawn(case, from_memory):
    other = clone(from_memory).set_params(seed=1).fit(case.normal)
    differs = other.anomaly_score(case.rows) != from_memory.anomaly_score(case.rows)
    assert differs.any() == case.draws


def test_rows_in_batches_teach_the_same_as_rows_in_memory(case, from_memory, model_folder, tmp_path):
    in_batches = fitted(case.name, "fit_batches", model_folder)
    assert contents(in_batches, tmp_path) == contents(from_memory, tmp_path)
    np.testing.assert_array_equal(in_batches.anomaly_score(case.rows), from_memory.anomaly_score(case.rows))


def test_fitting_leaves_the_rows_and_the_generators_as_they_were(case, model_folder):
    _, rows, before, after = fitted_again(case.name, model_folder)
    pd.testing.assert_frame_equal(rows, case.normal)
    assert after.equal(before)


@pytest.mark.parametrize("origin", ["fit", "fit_batches"])
def test_a_saved_detector_comes_back_as_it_was(case, origin, model_folder):
    before, after = fitted(case.name, origin, model_folder), fitted(case.name, f"{origin}, loaded", model_folder)
    assert type(after) is type(before)
    first, again = before.judge(case.rows), after.judge(case.rows)
    np.testing.assert_array_equal(again.anomaly_score, first.anomaly_score)
    np.testing.assert_array_equal(again.p_value, first.p_value)
    np.testing.assert_array_equal(again.is_anomaly, first.is_anomaly)
    np.testing.assert_array_equal(after.contributions(case.rows), before.contributions(case.rows))
    pd.testing.assert_frame_equal(after.explain(case.rows), before.explain(case.rows))
    np.testing.assert_array_equal(after.calibration_.scores, before.calibration_.scores)
    assert after.threshold() == before.threshold()
    assert after.probes_ == before.probes_
    assert after.feature_names_in_.tolist() == before.feature_names_in_.tolist()


def test_a_second_trip_changes_no_byte(case, model_folder, tmp_path):
    detector = fitted(case.name, "fit, loaded", model_folder)
    save(detector, tmp_path / "second")
    save(load(tmp_path / "second"), tmp_path / "third")
    assert (tmp_path / "third").read_bytes() == (tmp_path / "second").read_bytes()


# Settings ------------------------------------------------------------------------------------------------------------


def test_settings_are_stored_and_cloned_as_they_are(case, detector):
    names = set(inspect.signature(type(detector)).parameters)
    assert set(detector.get_params(deep=False)) == names
    copy = clone(detector)
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert plain_settings(copy) == plain_settings(detector)


def test_a_setting_can_be_changed_and_changed_back(case, detector):
    copy = clone(detector)
    assert copy.set_params(seed=5).get_params()["seed"] == 5
    assert plain_settings(copy.set_params(seed=detector.seed)) == plain_settings(detector)


def plain_settings(detector):
    """The settings that compare by value; a reconstructor does not, so it is compared by its representation."""
    settings = detector.get_params(deep=False)
    return settings | {"reconstructor": repr(settings["reconstructor"])}


METHODS = ("anomaly_score", "p_value", "is_anomaly", "explain", "contributions", "judge", "predict")
METHODS = (*METHODS, "score_samples", "decision_function")


@pytest.mark.parametrize("method", [*METHODS, "select", "threshold"])
def test_a_detector_that_is_not_fitted_says_so(case, method, model_folder):
    detector = case.make(model_folder)
    arguments = {"select": (case.rows, 0.1), "threshold": ()}.get(method, (case.rows,))
    with pytest.raises(NotFittedError, match=f"{type(detector).__name__} instance is not fitted yet"):
        getattr(detector, method)(*arguments)
