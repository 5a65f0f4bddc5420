"""Several workers that train one network of texts or sequences, on a real cluster, and one of them really killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from maskdiff import SequenceDetector, Steps, TableDetector, Training, TransformerReconstructor, load
from maskdiff.distributed import ClusterOptions, fit_files
from maskdiff.distributed.training import GroupTrainer
from maskdiff.jobs import fit_file
from maskdiff.jobs.checkpoint import Checkpoint
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.training import seeded, train

from ..handmade import schema_of, windows_of
from .test_faults import processes

TWO = ClusterOptions(workers=2)


def network_of(steps: int) -> TransformerReconstructor:
    """A small network; without dropout two workers take the very steps of one."""
    training = Training(Steps(steps, most_epochs=10_000), batch_size=16, look_every=20)
    return TransformerReconstructor(16, 1, 2, 32, dropout=0.0, training=training)


def sessions(n: int) -> list[list[str]]:
    return [["open", *["read", "write"][at % 2 :][:1] * (1 + at % 4), "close"] for at in range(n)]


def kill_when_there_is(checkpoint: Path, killed: list[int]) -> threading.Thread:
    """Kills one of two training workers once they have something to go on from."""

    def kill() -> None:
        while not checkpoint.exists():
            time.sleep(0.01)
        killed.extend(processes("ray::RayTrainWorker"))
        os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_two_workers_have_the_loss_curve_of_one_even_if_one_is_killed(cluster, tmp_path) -> None:
    rng, curves, killed = np.random.default_rng(0), [], list[int]()
    rows = [[(first + at) % 12 for at in range(rng.integers(2, 10))] for first in rng.integers(0, 12, 90)]
    codes, shape = windows_of(rows, schema_of([[at] for row in rows for at in row])), network_of(400)
    store = Checkpoint(str(tmp_path / "checkpoint"), seconds=0.0)
    thread = kill_when_there_is(store.path, killed)
    for trainer, stored in ((GroupTrainer(2), store), (train, None)):
        looks: list[Any] = []
        how = {"objective": Reconstruction((0.2, 0.5)), "schedule": Linear(), "settings": shape.training, "seed": 3}
        watched = {"held_out": codes, "callback": looks.append, "device": torch.device("cpu"), "checkpoint": stored}
        trainer(seeded(0, lambda: shape.build(codes.schema)), codes, **how, **watched)
        curves.append([(look.done, look.loss, look.held_out_loss) for look in looks])
    thread.join()
    assert len(killed) == 2
    resumed, whole = curves
    assert 4 < len(resumed) < len(whole) == 20  # what was reported before the kill is lost
    # Equal to 1e-4 in single precision (tests/training/test_groups.py); here products may be rounded to bfloat16.
    np.testing.assert_allclose(resumed, whole[-len(resumed) :], rtol=0.02)


def test_a_model_that_two_workers_trained_is_that_of_one(cluster, tmp_path) -> None:
    rows, out = tmp_path / "rows.parquet", tmp_path / "model"
    pd.DataFrame({"steps": sessions(400)}).to_parquet(rows)
    detector = SequenceDetector(network_of(200), column="steps", progress=False)
    fit_files(str(rows), out, detector=detector, cluster=TWO)
    fit_file(str(rows), tmp_path / "plain", detector=detector)
    some = [*sessions(40), ["close", "open"]]
    found, expected = (load(model).anomaly_score(some) for model in (out, tmp_path / "plain"))
    np.testing.assert_allclose(found, expected, rtol=0.05)


@pytest.mark.parametrize(
    ("detector", "workers", "trainer"),
    [
        (SequenceDetector(), 2, GroupTrainer(2, has_cards=True)),
        (SequenceDetector(device="cpu"), 2, GroupTrainer(2)),
        (SequenceDetector(), 1, None),
        (SequenceDetector(), None, None),
        (TableDetector(), 2, None),
    ],
)
def test_several_workers_train_where_several_are_wanted(monkeypatch, detector, workers, trainer) -> None:
    monkeypatch.setattr(ClusterOptions, "n_workers", lambda self: self.workers or 8)
    assert GroupTrainer.of(detector, ClusterOptions(workers=workers), cards=2) == trainer


def test_workers_with_cards_leave_a_part_of_one_to_the_fit() -> None:
    assert GroupTrainer(2, 4.0).resources == {"CPU": 4.0}
    assert GroupTrainer(2, 1.0, has_cards=True).resources == {"CPU": 1.0, "GPU": 0.9}
