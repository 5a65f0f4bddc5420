"""What the commands say about single cells: alarms, lists and suggestions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from maskdiff import load, save

from ..wrong_cells import contract_detector, make_contracts, wrong_cells
from .running import call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """new.csv with wrong cells, and a model each with and without alarms of single cells."""
    folder = tmp_path_factory.mktemp("cells")
    wrong_cells().to_csv(folder / "new.csv", index=False)
    make_contracts(300, 2).to_csv(folder / "normal.csv", index=False)
    save(contract_detector(), folder / "model.maskdiff")
    save(contract_detector("kernel"), folder / "kernel.maskdiff")
    return folder


@pytest.fixture(scope="module")
def above(folder: Path) -> str:
    return f", or where one cell is odder than {load(folder / 'model.maskdiff').cell_threshold():.4g}"


def test_score_says_both_ways_to_an_alarm(folder, above, tmp_path):
    said = call("score", folder / "model.maskdiff", folder / "new.csv", "-o", tmp_path / "scored.csv")
    detector = contract_detector()
    assert f"alarm above a score of {detector.threshold():.4g}{above}; promised: at most 1%" in said.out
    facts = ("score", folder / "model.maskdiff", folder / "new.csv", "-o", tmp_path / "scored.csv", "--json")
    assert json.loads(call(*facts).out)["cell_threshold"] == detector.cell_threshold()
    said = call("score", folder / "kernel.maskdiff", folder / "new.csv", "-o", tmp_path / "scored.csv")
    assert f"alarm above a score of {contract_detector('kernel').threshold():.4g}; promised" in said.out


def test_fit_says_both_ways_to_an_alarm(folder, tmp_path):
    made = ("fit", folder / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "mlp", "--steps", 10)
    said = call(*made)
    assert f"or where one cell is odder than {load(tmp_path / 'm').cell_threshold():.4g}: at most 1%" in said.out


def test_inspect_shows_how_odd_a_cell_must_be(folder):
    said = call("inspect", folder / "model.maskdiff")
    assert "or where one cell is odder than (and the false-alarm rate): " in said.out
    facts = json.loads(call("inspect", folder / "model.maskdiff", "--json").out)["calibration"]
    assert facts["cell_thresholds"]["0.01"] == contract_detector().cell_threshold(0.01)
    assert "one cell" not in call("inspect", folder / "kernel.maskdiff").out


def test_explain_says_when_a_row_is_an_alarm_by_one_cell_alone(folder):
    verdicts = contract_detector().judge(wrong_cells(), 0.05)
    threshold = contract_detector().threshold(0.05)
    row = int(np.flatnonzero(verdicts.is_anomaly & (verdicts.anomaly_score <= threshold))[0]) + 1
    question = ("explain", folder / "model.maskdiff", folder / "new.csv", "--row", row, "--false-alarm-rate", 0.05)
    said = call(*question)
    (column,) = json.loads(call(*question, "--json").out)["alarm_cells"]
    assert f"row {row} of {folder / 'new.csv'}: an anomaly because of {column} alone, score" in said.out
