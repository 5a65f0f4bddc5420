from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import maskdiff
from maskdiff import (
    HeldOutLoss,
    KernelReconstructor,
    MLPReconstructor,
    ProbeGrid,
    TableDetector,
    Training,
    load,
    save,
    storage,
)
from maskdiff.datasets import make_claims
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.masking import Polynomial, Schedule
from maskdiff.objectives import Diffusion

# Beside those of tests/contract, which all come back as they were: settings they do not use.
DETECTORS = {
    "mlp, every setting": {
        "reconstructor": MLPReconstructor(8, 2, training=Training(HeldOutLoss(2, 30), look_every=5)),
        "probes": ProbeGrid([0.2, 0.7], 4, "independent", "zero", seed=9),
        "objective": Diffusion(earliest=0.01),
        "schedule": Polynomial(1.5),
        "aggregate": "rms",
        "columns": {"flag": "drop", "bytes": "number"},
        "false_alarm_rate": 0.05,
        "seed": np.int64(2),
    },
    "kernel, other bandwidth": {"reconstructor": KernelReconstructor(2.5), "aggregate": "max"},
}


@pytest.mark.parametrize("name", DETECTORS)
def test_a_detector_comes_back_as_it_was(name, normal_rows, odd_rows, tmp_path):
    detector = TableDetector(**DETECTORS[name]).fit(normal_rows)
    path = tmp_path / "model.maskdiff"
    save(detector, path)
    again = load(path)
    for rows in (odd_rows, normal_rows):
        np.testing.assert_array_equal(again.anomaly_score(rows), detector.anomaly_score(rows))
        np.testing.assert_array_equal(again.p_value(rows), detector.p_value(rows))
        np.testing.assert_array_equal(again.predict(rows), detector.predict(rows))
    pd.testing.assert_frame_equal(again.explain(odd_rows), detector.explain(odd_rows))
    assert again.probes_ == detector.probes_
    assert again.threshold() == detector.threshold()
    assert again.feature_names_in_.tolist() == detector.feature_names_in_.tolist()
    assert {**again.get_params(deep=False), "reconstructor": None} == {
        **detector.get_params(deep=False),
        "reconstructor": None,
    }


def test_a_second_trip_changes_no_byte(normal_rows, tmp_path):
    save(TableDetector("kernel").fit(normal_rows), tmp_path / "first")
    again = load(tmp_path / "first")
    for trip in range(5):  # names in any order would agree by chance now and then
        save(again, tmp_path / f"{trip}")
        assert (tmp_path / f"{trip}").read_bytes() == (tmp_path / "first").read_bytes()


def test_the_header_names_the_version_that_wrote_it(model):
    assert parts_of(model)[0]["version"] == maskdiff.__version__


@pytest.mark.filterwarnings("ignore::maskdiff.errors.LeftOutWarning")
def test_dates_numbers_missing_and_rare_values_survive(tmp_path):
    claims, _ = make_claims(400, seed=1)
    new, _ = make_claims(50, seed=2)
    detector = TableDetector("kernel").fit(claims)
    save(detector, tmp_path / "claims")
    again = load(tmp_path / "claims")
    np.testing.assert_array_equal(again.contributions(new), detector.contributions(new))
    pd.testing.assert_frame_equal(again.explain(new), detector.explain(new))


def test_columns_without_names_stay_without_names(normal_rows, tmp_path):
    detector = TableDetector("kernel").fit(normal_rows.to_numpy())
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == 4
    np.testing.assert_array_equal(again.anomaly_score(normal_rows), detector.anomaly_score(normal_rows))


def test_more_than_256_codes_survive(tmp_path):
    rows = pd.DataFrame({"who": [f"w{i % 300}" for i in range(900)], "what": ["a", "b", "c"] * 300})
    detector = TableDetector("kernel").fit(rows)
    save(detector, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").anomaly_score(rows), detector.anomaly_score(rows))


# What is refused -----------------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    """A small model file."""
    rows = pd.DataFrame({"pet": ["cat", "dog"] * 20, "says": ["meow", "woof"] * 20})
    save(TableDetector("kernel").fit(rows), tmp_path / "pets.maskdiff")
    return tmp_path / "pets.maskdiff"


@pytest.fixture
def nothing_built(monkeypatch):
    """Fails the test if anything is built from a file."""

    def build(*_):
        raise AssertionError("something was built from a file that should have been refused")

    monkeypatch.setattr(storage, "_build", build)


def parts_of(path):
    with safe_open(path, framework="pt") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def test_a_file_with_any_damaged_byte_is_refused(model, nothing_built):
    content = model.read_bytes()
    header = 8 + int.from_bytes(content[:8], "little")
    for at in [*range(0, header, 3), *range(header, len(content))]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 7
        model.write_bytes(damaged)
        with pytest.raises(ModelFileError, match=r"pets\.maskdiff"):
            load(model)


def test_the_format_and_the_names_of_the_header_are_part_of_what_is_checked(model, nothing_built):
    content = model.read_bytes()
    for word in (b'"format"', b'"digest"', b'"maskdiff"', b'"version"', b'"6"'):
        assert content.count(word) == 1
        at = content.index(word) + 1
        for flipped in (1, 2, 4):
            damaged = bytearray(content)
            damaged[at] ^= flipped
            model.write_bytes(damaged)
            with pytest.raises(ModelFileError):
                load(model)


def test_a_truncated_file_is_refused(model, nothing_built):
    content = model.read_bytes()
    for length in [0, 1, 7, 8, 9, *range(10, len(content), 97), len(content) - 1]:
        model.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="not a maskdiff model file, or is damaged"):
            load(model)


def test_a_file_with_something_behind_it_is_refused(model, nothing_built):
    model.write_bytes(model.read_bytes() + b"more")
    with pytest.raises(ModelFileError):
        load(model)


@pytest.mark.parametrize("content", [b"protocol,service\ntcp,http\n", b"PK\x03\x04 a zip file", b"{}", bytes(64)])
def test_a_foreign_file_is_refused(content, tmp_path, nothing_built):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="not a maskdiff model file, or is damaged"):
        load(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_somebody_elses_safetensors_file_is_refused(metadata, tmp_path, nothing_built):
    save_file({"weight": torch.ones(3)}, tmp_path / "theirs", metadata=metadata)
    with pytest.raises(ModelFileError, match="safetensors file, but not one that maskdiff wrote"):
        load(tmp_path / "theirs")


@pytest.mark.parametrize("newer", ["7", "10"])
def test_a_file_of_a_newer_format_is_refused_with_the_way_out(newer, model, nothing_built):
    header, tensors = parts_of(model)
    save_file(tensors, model, metadata=header | {"format": newer, "version": "9.8.7"})
    with pytest.raises(ModelFileError, match=rf"maskdiff 9\.8\.7 in format {newer}; .* format 6\. Upgrade maskdiff"):
        load(model)


def test_a_file_of_the_first_format_is_refused_with_the_way_out(model, nothing_built):
    header, tensors = parts_of(model)
    save_file(tensors, model, metadata=header | {"format": "1", "version": "0.1.0"})
    with pytest.raises(ModelFileError, match=r"in format 1, .* reads format 6\. Fit the detector again"):
        load(model)


class Trap:
    """Touches a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_never_opened(tmp_path, nothing_built):
    trap, path = tmp_path / "sprung", tmp_path / "model.maskdiff"
    path.write_bytes(pickle.dumps(Trap(trap)))
    with pytest.raises(ModelFileError):
        load(path)
    torch.save({"model": Trap(trap)}, path)
    with pytest.raises(ModelFileError):
        load(path)
    assert not trap.exists()


def test_no_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ModelFileError, match="there is no model file at"):
            load(path)


def forge(path, change):
    """A file whose digest is right and whose manifest is not."""
    header, tensors = parts_of(path)
    text = change(header["maskdiff"])
    digest = storage._digest(header | {"maskdiff": text}, tensors)
    save_file(tensors, path, metadata=header | {"maskdiff": text, "digest": digest})


def changed(*place, value):
    """Change one entry of the manifest."""

    def change(text):
        manifest = json.loads(text)
        inner = manifest
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = value
        return json.dumps(manifest)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: "[]",
        lambda text: "null",
        lambda text: "{}",
        changed("detector", value="Popen"),
        changed("state", "evidence", "sources", "reconstructor", "is", value="Popen"),
        changed("state", "evidence", "sources", "reconstructor", "state", "reconstructor", value="Popen"),
        changed("state", "evidence", "terms", value=[]),
        changed("state", "probes", value={"is": "Popen", "args": "true"}),
        changed("state", "probes", "levels", value={"is": "tuple", "entries": [2.0]}),
        changed("state", "settings", "no_such_setting", value=1),
        changed("state", "encoder", value={}),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused_even_with_the_right_digest(change, model):
    forge(model, change)
    with pytest.raises(ModelFileError):
        load(model)


# Writing -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(failing, model, normal_rows, monkeypatch):
    before = model.read_bytes()

    def fail(*_):
        raise OSError("no space left on device")

    detector = TableDetector("kernel").fit(normal_rows)
    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        save(detector, model)
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


def test_saving_replaces_the_file_and_leaves_nothing_else(model, normal_rows, odd_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    save(detector, str(model))
    assert list(model.parent.iterdir()) == [model]
    np.testing.assert_array_equal(load(str(model)).anomaly_score(odd_rows), detector.anomaly_score(odd_rows))


class Mine(Schedule):
    def alpha(self, time):
        return (1 - time) ** 2


class Guessing:
    def log_prob(self, views):
        return torch.zeros(views.n_rows, views.n_views, views.codes_BF.shape[1])

    def most_likely(self, views):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reconstructor": Guessing()}, "only reconstructors with to_state that are listed"),
        ({"reconstructor": "kernel", "schedule": Mine()}, "Mine object .* cannot be saved"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(settings, message, normal_rows, tmp_path):
    detector = TableDetector(**settings).fit(normal_rows)
    with pytest.raises(SettingError, match=message):
        save(detector, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_detector_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(SettingError, match="fit it before saving it"):
        save(TableDetector(), tmp_path / "model")
