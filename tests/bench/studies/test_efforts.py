"""The study of efforts: every effort beside the whole grid, one fit for all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.methods import Method
from maskdiff.bench.runs.runner import run_bench
from maskdiff.bench.studies.efforts import Efforts, agreement, execute_efforts
from maskdiff.bench.studies.speed.tables import make_table


def quick(seed: int, device: str) -> TableDetector:
    network = MLPReconstructor(16, 2, training=Training(Steps(20)))
    return TableDetector(network, cross_fit_up_to=0, seed=seed, device=device, progress=False)


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> Efforts:
    table = make_table(2200, 9)
    made = (table, np.arange(len(table)) % 50 == 0)
    monkeypatch.setattr("maskdiff.bench.studies.efforts.load_set", lambda name, data: made)
    monkeypatch.setattr(Efforts, "method", lambda self, run: Method(quick, "ours"))
    return Efforts()


def test_one_record_holds_every_effort_and_the_whole_grid_agrees_with_itself(task: Efforts, tmp_path: Path) -> None:
    how = {"execute": execute_efforts, "outcome": agreement}
    (record,) = run_bench(task, tmp_path / "out.jsonl", sets=["bank"], methods=["default"], seeds=range(1), **how)
    assert record["status"] == "ok", record
    assert set(record["efforts"]) == {"full", "auto", "alarms"}
    assert record["efforts"]["full"]["agreement"] == record["efforts"]["full"]["whole_grid"] == 1
    assert record["efforts"]["alarms"]["whole_grid"] < 0.5 < record["efforts"]["alarms"]["agreement"]
    assert "alarms as by the whole grid: auto " in agreement(record)


def test_a_run_that_fails_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    record = execute_efforts(Run("bank", "default", 0), Efforts("no such folder"), "cpu")
    assert record["status"] == "failed"
