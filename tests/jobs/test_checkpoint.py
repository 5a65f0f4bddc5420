"""An interrupted training goes on where it was and ends where it would have ended."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import maskdiff
from maskdiff.jobs import Checkpoint, fit_file
from maskdiff.reconstructors import TransformerReconstructor

from ..cli.conftest import connections
from ..cli.messages import messages


class Interrupting(Checkpoint):
    """Writes down the first look and then is interrupted, before what comes after is known."""

    def save(self, run, state):
        super().save(run, state)
        raise KeyboardInterrupt


def fitted(checkpoint=None, cross_fit_up_to=0, **settings):
    table = connections(120, seed=3).drop(columns="id")
    training = maskdiff.Training(maskdiff.Steps(30), look_every=10, **settings)
    network = maskdiff.MLPReconstructor(width=32, training=training)
    detector = maskdiff.TableDetector(network, cross_fit_up_to=cross_fit_up_to, progress=False)
    return detector.fit_batches(lambda: [table], checkpoint=checkpoint)


@pytest.mark.parametrize(
    "settings", [{"cross_fit_up_to": 120}, {"average": 0.0}, {"warmup": 0.3}], ids=["folds", "no average", "warmup"]
)
def test_a_resumed_training_gives_the_network_of_an_uninterrupted_one(settings, tmp_path):
    path = str(tmp_path / "checkpoint")
    with pytest.raises(KeyboardInterrupt):
        fitted(Interrupting(path, seconds=0), **settings)
    checkpoint = Checkpoint(path, resume=True, seconds=0)
    resumed, whole = fitted(checkpoint, **settings), fitted(**settings)
    assert checkpoint.resumed_at == 10
    weights = [detector.reconstructor_.network_.state_dict() for detector in (resumed, whole)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[1])
    assert resumed.calibration_.scores.tolist() == whole.calibration_.scores.tolist()


def fitted_on_texts(checkpoint=None):
    training = maskdiff.Training(maskdiff.Steps(30), look_every=10, batch_size=16)
    small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=training)
    detector = maskdiff.TextDetector(small, probes=maskdiff.ProbeGrid((0.3,), 2), progress=False)
    return detector.fit_batches(lambda: [messages(60, 1), messages(60, 2)], checkpoint=checkpoint)


def test_a_resumed_training_on_texts_ends_where_it_would_have_ended(tmp_path):
    path = str(tmp_path / "checkpoint")
    with pytest.raises(KeyboardInterrupt):
        fitted_on_texts(Interrupting(path, seconds=0))
    checkpoint = Checkpoint(path, resume=True, seconds=0)
    resumed, whole = fitted_on_texts(checkpoint), fitted_on_texts()
    assert checkpoint.resumed_at == 10
    assert resumed.calibration_.scores.tolist() == whole.calibration_.scores.tolist()


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    path = str(tmp_path / "checkpoint")
    with pytest.raises(KeyboardInterrupt):
        fitted(Interrupting(path, seconds=0))
    with pytest.raises(maskdiff.errors.SettingError, match="another training"):
        fitted(Checkpoint(path, resume=True), learning_rate=0.5)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"nonsense")
    with pytest.raises(maskdiff.errors.ModelFileError, match="damaged"):
        fitted(Checkpoint(str(tmp_path / "checkpoint"), resume=True))


def test_rows_cut_into_batches_give_the_same_model():
    table = connections(300, seed=3).drop(columns="id")
    pieces = [table[at : at + 70] for at in range(0, 300, 70)]
    whole = maskdiff.TableDetector("kernel", progress=False).fit(table)
    cut = maskdiff.TableDetector("kernel", progress=False).fit_batches(lambda: iter(pieces))
    assert cut.encoder_.to_state() == whole.encoder_.to_state()
    np.testing.assert_array_equal(cut.calibration_.scores, whole.calibration_.scores)


def test_rows_that_change_between_readings_are_noticed():
    table = connections(60, seed=3).drop(columns="id")
    sizes = iter([60, 60, 50, 50])
    with pytest.raises(maskdiff.errors.InputError, match="another number"):
        maskdiff.TableDetector("kernel").fit_batches(lambda: [table[: next(sizes)]])


def test_fit_file_resumes_and_leaves_no_checkpoint_behind(tmp_path):
    source, out, path = tmp_path / "normal.csv", tmp_path / "m", tmp_path / "m.checkpoint"
    connections(120, seed=3).drop(columns="id").to_csv(source, index=False)
    training = maskdiff.Training(maskdiff.Steps(30), look_every=10)
    unfitted = maskdiff.TableDetector(maskdiff.MLPReconstructor(width=32, training=training), progress=False)
    with pytest.raises(KeyboardInterrupt):
        fit_file(str(source), out, detector=unfitted, checkpoint=Interrupting(str(path), seconds=0))
    assert path.exists()
    assert not out.exists()
    checkpoint = Checkpoint(str(path), resume=True)
    resumed = fit_file(str(source), out, detector=unfitted, checkpoint=checkpoint)
    assert checkpoint.resumed_at == 10
    assert not path.exists()
    whole = fit_file(str(source), detector=unfitted)
    assert resumed.calibration_.scores.tolist() == whole.calibration_.scores.tolist()
