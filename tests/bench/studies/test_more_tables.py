from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskdiff.bench.baselines.numbers import NumbersForest, NumbersLof, NumbersNeighbours
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies.more_tables import COMPARED, MoreTables
from maskdiff.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one table: a number and a category, anomalies far off."""
    rng = np.random.default_rng(0)
    lines = ["@relation made", "@attribute x real"]
    lines += [f"{x:.2f}, {'ab'[i % 2]}, negative" for i, x in enumerate(rng.normal(size=80))]
    lines += [f"{x:.2f}, c, positive" for x in rng.normal(40, 1, size=8)]
    (tmp_path / "made.dat").write_text("\n".join(lines))
    return tmp_path


def test_groups_of_tables_stand_for_their_names() -> None:
    task = MoreTables()
    assert len(task.set_names(["categories"])) == 30
    assert len(task.set_names(["numbers"])) == 13
    assert len(task.set_names(["all", "pima"])) == 43
    assert len(task.set_names(["held_out"])) == 22
    assert not set(task.set_names(["held_out"])) & set(task.set_names(["all"]))


def test_the_command_measures_methods_whose_names_hold_commas(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    methods = ["iforest on numbers", "5 neighbours on numbers", "default, plain bins"]
    arguments = ["--sets", "made", "--methods", ",".join(methods), "--seeds", "1", "--out", str(out), "--quiet"]
    assert main(["bench", "more-tables", "--data", str(folder), *arguments]) == 0
    records = read_records(out)
    assert [record["method"] for record in records] == methods
    assert all(record["roc_auc"] > 0.9 for record in records)


def test_plain_bins_have_no_tails() -> None:
    detector = COMPARED["default, plain bins"].build(0, "cpu")
    assert detector.encoder.tails == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("detector", [NumbersForest(seed=3), NumbersNeighbours(), NumbersLof()])
def test_detectors_on_numbers_take_empty_cells_and_unseen_categories(detector: NumbersForest) -> None:
    normal = pd.DataFrame({"x": [*np.linspace(0, 1, 30), np.nan], "c": ["a"] * 31})
    new = pd.DataFrame({"x": [0.5, np.nan, 30.0], "c": ["a", "b", "a"]})
    scores = detector.fit(normal).anomaly_score(new)
    assert np.isfinite(scores).all()
    assert scores.argmax() == 2


def test_the_local_outlier_factor_compares_with_a_sample_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NumbersLof, "most_rows", 50)
    normal = pd.DataFrame({"x": np.linspace(0, 1, 200), "c": ["a", "b"] * 100})
    detector = NumbersLof(seed=1).fit(normal)
    assert detector.model_.n_samples_fit_ == 50
    scores = detector.anomaly_score(pd.DataFrame({"x": [0.5, 9.0], "c": ["a", "a"]}))
    assert scores[1] > scores[0]
