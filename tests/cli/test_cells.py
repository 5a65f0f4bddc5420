"""What the commands say about single cells: alarms, lists and suggestions."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
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
    assert f"row {row} of {folder / 'new.csv'}: an anomaly because of {column} alone," in said.out


def test_suggest_writes_a_corrected_copy_and_the_list_of_changes(folder, tmp_path):
    fixed, changes = tmp_path / "fixed.csv", tmp_path / "changes.csv"
    before = (folder / "new.csv").read_bytes()
    request = ("suggest", folder / "model.maskdiff", folder / "new.csv", "-o", fixed, "--changes", changes)
    said = call(*request)
    assert said.status == 0, said.err
    listed = pd.read_csv(changes)
    n_cells, n_rows, n_changed = len(listed), listed["row"].nunique(), int(listed["changed"].sum())
    assert said.out.splitlines()[0] == (
        f"{n_cells} cells in {n_rows} rows look wrong (at most about 10% of them are fine); "
        f"{n_changed} have a likely value"
    )
    assert said.out.splitlines()[1].startswith(f"wrote 120 rows to {fixed} and the list of odd cells to {changes} in")
    assert (folder / "new.csv").read_bytes() == before
    repaired = contract_detector().repair(wrong_cells())
    assert pd.read_csv(fixed)["office"].tolist() == repaired.rows["office"].tolist()
    facts = json.loads(call(*request, "--json").out)
    assert (facts["odd_cells"], facts["rows_with_odd_cells"], facts["changed"]) == (n_cells, n_rows, n_changed)


def test_suggest_takes_a_rate_and_a_least_probability(folder, tmp_path):
    request = ("suggest", folder / "kernel.maskdiff", folder / "new.csv", "-o", tmp_path / "fixed.csv", "--json")
    usual = json.loads(call(*request).out)
    more = json.loads(call(*request, "--false-discovery-rate", 0.4).out)
    fewer = json.loads(call(*request, "--at-least", 0.99).out)
    assert more["odd_cells"] > usual["odd_cells"] == fewer["odd_cells"]
    assert fewer["changed"] < usual["changed"]


def test_suggest_writes_rows_to_a_pipe_and_reads_one(folder):
    said = call("suggest", folder / "model.maskdiff", "-", "-o", "-", stdin=(folder / "new.csv").read_bytes())
    assert said.status == 0, said.err
    assert len(pd.read_csv(io.StringIO(said.out))) == 120
    assert "look wrong" in said.err


def test_suggest_never_writes_over_what_it_reads(folder, tmp_path):
    model, new = folder / "model.maskdiff", folder / "new.csv"
    for wrong in (new, model):
        assert call("suggest", model, new, "-o", wrong).is_refusal
        assert call("suggest", model, new, "-o", tmp_path / "fixed.csv", "--changes", wrong).is_refusal
        assert call("score", model, new, "-o", tmp_path / "scored.csv", "--cells", wrong).is_refusal
    assert call("suggest", model, new, "-o", tmp_path / "a.csv", "--changes", tmp_path / "a.csv").is_refusal
    assert call("suggest", model, new, "-o", "-", "--changes", "-").is_refusal
    assert list(tmp_path.iterdir()) == []


def test_where_no_cell_is_reported_a_note_says_which_rate_would_report_some(folder, tmp_path):
    rows = make_contracts(200, 3)
    rows.loc[["c5", "c6", "c7", "c8", "c9"], "colour"] = "purple"
    rows.to_csv(tmp_path / "new.csv", index=False)
    request = ("suggest", folder / "model.maskdiff", tmp_path / "new.csv", "-o", tmp_path / "fixed.csv")
    said = call(*request)
    assert said.out.startswith("no cell is listed at a false-discovery rate of 10%\n")
    (rate,) = re.findall(r"--false-discovery-rate ([0-9.]+)\.\)", said.err)
    assert json.loads(call(*request, "--json", "--false-discovery-rate", rate).out)["odd_cells"] >= 5


def test_score_lists_cells_and_counts_them(folder, tmp_path):
    scored, cells = tmp_path / "scored.csv", tmp_path / "cells.csv"
    request = ("score", folder / "model.maskdiff", folder / "new.csv", "-o", scored, "--cells", cells)
    said = call(*request)
    n_cells = len(pd.read_csv(cells))
    assert f"{n_cells} cells in " in said.out
    assert f"wrote 120 rows to {scored} and the odd cells to {cells} in" in said.out
    facts = json.loads(call(*request, "--json").out)
    assert (facts["odd_cells"], facts["cells"]) == (n_cells, str(cells))
    assert "odd_cells" not in json.loads(call(*request[:5], "--json").out)
