"""Settings by name: what scikit-learn needs to clone and to search."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid

import maskdiff
from maskdiff import (
    Epochs,
    HeldOutLoss,
    KernelReconstructor,
    MLPReconstructor,
    PretrainedReconstructor,
    ProbeGrid,
    Steps,
    TableDetector,
    TableEncoder,
    Training,
    TransformerReconstructor,
)
from maskdiff.errors import SettingError
from maskdiff.masking import Polynomial
from maskdiff.objectives import Diffusion, Reconstruction

SETTINGS = [
    Epochs(3),
    HeldOutLoss(2, 30),
    Steps(7),
    Training(Epochs(2), batch_size=9),
    ProbeGrid((0.2, 0.4), 3),
    Polynomial(3.0),
    Diffusion(0.01),
    Reconstruction((0.1, 0.5)),
    KernelReconstructor(2.0),
    MLPReconstructor(16, 2, training=Training(Steps(4))),
    TransformerReconstructor(width=16, heads=2),
    PretrainedReconstructor("folder", mask_token="<m>"),
    TableEncoder(bins=7, columns={"a": "drop"}),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: type(one).__name__)
def test_settings_are_cloned_by_their_names(settings):
    copy = clone(settings)
    assert copy is not settings
    assert repr(copy) == repr(settings)
    assert type(settings)(**settings.get_params(deep=False)).get_params().keys() == settings.get_params().keys()


def test_settings_of_settings_have_names():
    params = MLPReconstructor(training=Training(Steps(4))).get_params()
    assert (params["training__batch_size"], params["training__stop__number"]) == (256, 4)
    assert not [name for name in MLPReconstructor().get_params(deep=False) if "__" in name]


def test_settings_at_any_depth_can_be_changed_from_the_detector():
    detector = TableDetector(MLPReconstructor(), probes=ProbeGrid(), encoder=TableEncoder())
    detector.set_params(
        reconstructor__width=64,
        reconstructor__training__stop__number=5,
        probes__views_per_level=2,
        encoder__bins=5,
        seed=3,
    )
    assert (detector.reconstructor.width, detector.reconstructor.training) == (64, Training(Steps(5)))
    assert (detector.probes, detector.encoder.bins, detector.seed) == (ProbeGrid(views_per_level=2), 5, 3)
    assert detector.get_params()["reconstructor__training__stop__number"] == 5


def test_a_frozen_value_stays_as_it_is():
    before = ProbeGrid()
    after = before.set_params(views_per_level=2)
    assert (before.views_per_level, after.views_per_level) == (16, 2)


def test_a_setting_that_is_refused_changes_nothing():
    network = MLPReconstructor()
    with pytest.raises(SettingError, match="dropout"):
        network.set_params(width=8, dropout=2.0)
    assert network.width == 256


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reconstructor__no_such": 1}, "MLPReconstructor has no setting 'no_such'"),
        ({"reconstructor__training__no_such": 1}, "Training has no setting 'no_such'"),
        ({"probes__levels": (0.5,)}, "probes is None, which has no settings"),
        ({"no_such": 1}, "no_such"),
        ({"no_such__width": 1}, "no_such"),
    ],
)
def test_names_that_mean_nothing_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TableDetector(MLPReconstructor()).set_params(**change)


def test_a_detector_that_is_cloned_keeps_the_settings_but_not_what_was_learned(normal_rows):
    fitted = TableDetector("kernel").fit(normal_rows).reconstructor_
    copy = clone(TableDetector(fitted))
    assert isinstance(copy.reconstructor, KernelReconstructor)
    assert not hasattr(copy.reconstructor, "codes_NF")


def test_a_grid_over_settings_of_the_reconstructor_is_searched(normal_rows):
    grid = {"reconstructor__bandwidth": [0.5, 2.0], "probes__views_per_level": [2]}
    detector = TableDetector(KernelReconstructor(), probes=ProbeGrid())
    search = GridSearchCV(detector, grid, scoring=lambda fitted, X, y=None: fitted.reconstructor_.bandwidth, cv=2)
    search.fit(normal_rows.head(60))
    assert search.best_params_ == ParameterGrid(grid)[1]
    assert isinstance(search.best_estimator_, maskdiff.TableDetector)
