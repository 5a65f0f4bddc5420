"""A schedule, an objective and an aggregate from outside: one class or function and one line in a registry each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from maskdiff import Steps, TableDetector, TextDetector, Training, load, save
from maskdiff.errors import SettingError
from maskdiff.masking import SCHEDULES, Schedule
from maskdiff.objectives import OBJECTIVES, Reconstruction
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor
from maskdiff.score import AGGREGATES

from .cases import CASES


@dataclass(frozen=True)
class Square(Schedule):
    """alpha_t = (1 - t)^2: much is hidden early on."""

    def alpha(self, time):
        return (1 - time) ** 2


@dataclass(frozen=True)
class Doubled(Reconstruction):
    """Twice the loss of Eq. 8."""

    def loss(self, log_prob_BF, hidden_BF, time_B, schedule):
        return 2 * super().loss(log_prob_BF, hidden_BF, time_B, schedule)


def cubes(surprise, weight):
    """The cube root of the mean cube; shared out by cubes."""
    cubed = weight * surprise**3
    score = np.cbrt(cubed.sum(axis=1, keepdims=True))
    return cubed / np.maximum(score**2, 1e-30)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(SCHEDULES, "square", Square)
    monkeypatch.setitem(OBJECTIVES, "doubled", Doubled)
    monkeypatch.setitem(AGGREGATES, "cubes", cubes)


OWN = {"schedule": "square", "objective": "doubled", "aggregate": "cubes"}
TRAINING = Training(Steps(20), batch_size=32)
DETECTORS = {
    "default": TableDetector(**OWN),
    "mlp": TableDetector(MLPReconstructor(16, 2, training=TRAINING), **OWN),
    "texts": TextDetector(TransformerReconstructor(16, 1, 2, 32, training=TRAINING), column="body", **OWN),
}


@pytest.mark.parametrize("name", DETECTORS)
def test_what_is_added_is_fitted_saved_loaded_scored_and_explained(name, tmp_path):
    case, detector = CASES[name], DETECTORS[name].fit(CASES[name].normal)
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    assert {name: again.get_params()[name] for name in OWN} == OWN
    verdicts = again.judge(case.rows)
    np.testing.assert_array_equal(verdicts.anomaly_score, detector.anomaly_score(case.rows))
    np.testing.assert_allclose(again.contributions(case.rows).sum(axis=1), verdicts.anomaly_score, rtol=1e-9)
    pd.testing.assert_frame_equal(again.explain(case.rows), detector.explain(case.rows))


@pytest.mark.parametrize("setting", OWN)
def test_what_is_added_is_what_is_used(setting):
    case = CASES["mlp"]
    network = DETECTORS["mlp"].reconstructor
    scores = [
        TableDetector(network, **settings).fit(case.normal).anomaly_score(case.rows)
        for settings in ({}, {setting: OWN[setting]})
    ]
    assert (scores[0] != scores[1]).any()


def test_an_aggregate_added_from_outside_is_computed_as_it_says():
    case = CASES["kernel"]
    cells = TableDetector("kernel", aggregate="cubes").fit(case.normal).judge(case.rows)
    mean = TableDetector("kernel").fit(case.normal).judge(case.rows)
    weight = mean.contributions / mean.surprise
    np.testing.assert_allclose(cells.anomaly_score, np.cbrt((weight * mean.surprise**3).sum(axis=1)), rtol=1e-6)


@pytest.mark.parametrize("setting", OWN)
def test_the_names_there_are_include_what_was_added(setting):
    with pytest.raises(SettingError, match=f"choose one of .*{OWN[setting]}"):
        TableDetector("kernel", **{setting: "nonsense"}).fit(CASES["kernel"].normal)
