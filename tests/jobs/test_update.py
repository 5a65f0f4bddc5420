"""A file of more rows joins a model; what was interrupted goes on to the same model."""

from __future__ import annotations

import pytest

from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, Training, load
from maskdiff.jobs import Checkpoint, update_file

from ..conftest import make_connections

QUICK = MLPReconstructor(8, 2, training=Training(Steps(100), batch_size=64, look_every=10))


@pytest.fixture(scope="module")
def detector():
    made = TableDetector(QUICK, probes=ProbeGrid((0.3,), 2), cross_fit_up_to=0, progress=False)
    return made.fit(make_connections(200, seed=1))


class Interrupted(Checkpoint):
    """Is interrupted once it has saved something."""

    def save(self, run, state):
        super().save(run, state)
        raise KeyboardInterrupt


def test_an_update_that_was_interrupted_goes_on_to_the_same_model(detector, tmp_path):
    rows, out, kept = (str(tmp_path / name) for name in ("more.csv", "two.maskdiff", "two.checkpoint"))
    more = make_connections(60, seed=2)
    more.to_csv(rows, index=False)
    whole = tmp_path / "whole.maskdiff"
    summary = update_file(detector, rows, str(whole))
    with pytest.raises(KeyboardInterrupt):
        update_file(detector, rows, out, checkpoint=Interrupted(kept, seconds=0))
    assert not (tmp_path / "two.maskdiff").exists()
    checkpoint = Checkpoint(kept, resume=True)
    assert update_file(detector, rows, out, checkpoint=checkpoint) == summary
    assert checkpoint.resumed_at == 10
    assert not (tmp_path / "two.checkpoint").exists()
    assert (load(out).anomaly_score(more) == load(whole).anomaly_score(more)).all()
    assert detector.updates_ == ()
