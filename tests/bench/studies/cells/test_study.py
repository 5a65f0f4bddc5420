"""`maskdiff bench cells`, from a table to its records."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies.cells import tables
from maskdiff.bench.studies.cells.frequency import FrequencyRule
from maskdiff.bench.studies.cells.methods import CELL_METHODS
from maskdiff.bench.studies.cells.outlier_tree import OutlierTrees
from maskdiff.bench.studies.cells.pair_rule import PairRule
from maskdiff.bench.studies.cells.study import PlantedCells, execute_cells
from maskdiff.bench.studies.cells.tables import learned_and_unseen, names_of_tables, normal_rows
from maskdiff.cli import main
from maskdiff.datasets import make_claims
from maskdiff.errors import MissingExtraError, SettingError

SAYS = {"cat": "meow", "dog": "woof", "cow": "moo"}


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A user's table: what an animal says follows from what it is."""
    rng = np.random.default_rng(0)
    pet = rng.choice(list(SAYS), 300)
    table = pd.DataFrame({"pet": pet, "says": [SAYS[one] for one in pet], "age": rng.integers(1, 9, 300)})
    table.to_csv(path := tmp_path / "pets.csv", index=False)
    return path


def test_the_command_measures_a_users_table_and_goes_on_from_there(
    pets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.jsonl"
    command = ["bench", "cells", "--sets", f"{pets},{pets}+5%", "--part", "unseen", "--methods", "kernel,frequency"]
    settings = ["--seeds", "1", "--device", "cpu", "--out", str(out)]
    assert main([*command, *settings]) == 0
    assert f"[1/4] {pets} kernel seed 0: false alarms " in capsys.readouterr().err
    records = {(Path(record["set"]).name, record["method"]): record for record in read_records(out)}
    kernel, frequency = (records["pets.csv", method]["planted"] for method in ("kernel", "frequency"))
    assert kernel["contradiction"]["found"] == kernel["contradiction"]["n"] == 60
    assert frequency["contradiction"]["found"] < 10
    assert kernel["never seen"]["n"] == 60
    assert 0 < frequency["contradiction"]["right"] < kernel["contradiction"]["right"]
    assert records["pets.csv", "kernel"]["n_train"] == 240
    dirty = {method: records["pets.csv+5%", method]["cells"] for method in ("kernel", "frequency")}
    assert dirty["kernel"]["n_wrong"] == 45
    assert sum(way["n"] for way in dirty["kernel"]["by_way"].values()) == 45
    listed = [dirty["kernel"][name] for name in ("reported_right", "reported_wrong", "reported")]
    assert 0 < listed[0] <= listed[1] <= listed[2] <= 45
    assert "reported" not in dirty["frequency"]
    assert dirty["frequency"]["average_precision"] < dirty["kernel"]["average_precision"]
    assert main([*command, *settings]) == 0
    assert "4 of 4 runs were done before" in capsys.readouterr().err


def test_a_table_is_measured_with_errors_in_unseen_rows_and_in_files_of_each_share(pets: Path) -> None:
    assert PlantedCells().set_names(["bank"]) == ["bank", "bank+0.5%", "bank+2%", "bank+5%"]
    assert PlantedCells(part="file").set_names(["bank+1%", "solar"])[:2] == ["bank+1%", "solar+0.5%"]
    assert PlantedCells(part="unseen").set_names(["all", str(pets)])[-2:] == ["solar", str(pets)]
    with pytest.raises(SettingError, match="choose one of unseen, file, all"):
        PlantedCells(part="rows")
    with pytest.raises(SettingError, match="write it as bank"):
        PlantedCells().set_names(["bank+two%"])


def test_the_anomalies_of_claims_are_measured_by_the_cells_that_were_tampered_with(
    monkeypatch: pytest.MonkeyPatch, pets: Path
) -> None:
    for module in (sets, tables):
        monkeypatch.setattr(module, "N_CLAIMS", 400)
    tables._rows.cache_clear()
    record = execute_cells(Run("claims", "pairs", 0), PlantedCells(), "cpu")
    tables._rows.cache_clear()
    _, y, cells = make_claims(400, seed=0, return_cells=True)
    found, wrong = record["planted"]["tampered"], tables.known_errors("claims", 0)
    assert wrong is not None
    assert found["n"] == y.sum() == len(wrong[1])
    assert 0 < found["first"] <= found["three"] <= found["n"]
    assert sorted(map(tuple, wrong[1])) == sorted(map(tuple, cells.to_numpy()[y == 1]))
    assert tables.known_errors(str(pets), 0) is None


def test_what_is_no_table_is_named() -> None:
    with pytest.raises(SettingError, match=r"there is no file 'nowhere\.csv'"):
        names_of_tables(["nowhere.csv"])
    with pytest.raises(SettingError, match="there is no data set 'nonsense'"):
        names_of_tables(["nonsense"])


def test_rows_are_shuffled_by_the_seed_and_cut_into_learned_and_unseen(pets: Path) -> None:
    first, again, other = (normal_rows(str(pets), None, seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)
    assert sorted(first["pet"]) == sorted(other["pet"])
    learned, unseen = learned_and_unseen(first)
    assert (len(learned), len(unseen)) == (240, 60)
    pd.testing.assert_frame_equal(pd.concat([learned, unseen], ignore_index=True), first)
    assert len(normal_rows(str(pets), None, 0, most=50)) == 50


def test_the_rules_know_what_they_can_count() -> None:
    normal = pd.DataFrame({"pet": ["cat"] * 50 + ["dog"] * 50, "says": ["meow"] * 50 + ["woof"] * 50}, dtype=object)
    rows = pd.DataFrame({"pet": ["cat", "cat", "cat"], "says": ["meow", "woof", "moo"]}, dtype=object)
    by_frequency, _ = FrequencyRule().fit(normal).oddness(rows)
    by_pairs, cells = PairRule().fit(normal).oddness(rows)
    assert by_frequency[0] == by_frequency[1] < by_frequency[2]  # each value is common by itself
    assert by_pairs[0] < by_pairs[1] < by_pairs[2]
    assert cells[2].argmax() == 1


@pytest.mark.parametrize("name", [name for name, method in CELL_METHODS.items() if method.group == "baselines"])
def test_every_baseline_judges_rows_and_cells(name: str, pets: Path) -> None:
    learned, unseen = learned_and_unseen(normal_rows(str(pets), None, 0))
    odd = unseen.assign(age=900)
    detector = CELL_METHODS[name].build(0, "cpu")
    detector.fit(learned)
    judged = detector.judge(odd)
    assert judged.score.shape == judged.alarm.shape == (60,)
    assert judged.oddness.shape == odd.shape
    assert (judged.oddness.argmax(axis=1) == 2).all()
    assert detector.judge(unseen).alarm.mean() < 0.1
    assert detector.n_calibration == 80


class OneOutlier:
    """In place of OutlierTree: the second row's column of animals is an outlier, one in a hundred of its group."""

    def __init__(self, nthreads: int) -> None:
        assert nthreads == 1

    def fit(self, X: pd.DataFrame, outliers_print: int, return_outliers: bool) -> None:
        self.levels = [list(X[name].cat.categories) for name in X if X[name].dtype == "category"]

    def predict(self, X: pd.DataFrame, outliers_print: int) -> pd.DataFrame:
        assert self.levels == [["cat", "dog"]]
        assert X.iloc[2].isna().tolist() == [False, True]  # a category never seen
        named: list[Any] = [{}, {"column": X.columns[1], "value": "dog"}, {}]
        return pd.DataFrame({"suspicious_value": named, "outlier_score": [np.nan, 0.01, np.nan]})


def test_an_outlier_of_outliertree_is_a_cell_and_the_others_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "outliertree", SimpleNamespace(OutlierTree=OneOutlier))
    normal = pd.DataFrame({"age": [1, 2], "pet": ["cat", "dog"]})
    rows = pd.DataFrame({"age": [1, 2, 3], "pet": ["cat", "dog", "emu"]})
    score, cells = OutlierTrees().fit(normal).oddness(rows)
    np.testing.assert_allclose(score, [0, -np.log(0.01), 0])
    np.testing.assert_array_equal(np.isfinite(cells), [[False, False], [False, True], [False, False]])


def test_without_outliertree_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "outliertree", None)
    with pytest.raises(MissingExtraError, match=r"maskdiff\[outliertree\]"):
        OutlierTrees().fit(pd.DataFrame({"age": [1]}))


def test_a_dirty_file_is_measured_beside_its_clean_copy(pets: Path, tmp_path: Path) -> None:
    dirty, wrong = pd.read_csv(pets), [3, 90, 200]
    dirty.loc[wrong, "says"] = ["mew", "wof", "mo"]
    dirty.to_csv(path := tmp_path / "dirty.csv", index=False)
    out = tmp_path / "out.jsonl"
    command = ["bench", "cells", "--sets", str(path), "--clean", str(pets), "--methods", "kernel", "--seeds", "2"]
    assert main([*command, "--out", str(out)]) == 0
    records = read_records(out)
    assert [record["cells"]["n_wrong"] for record in records] == [3, 3]
    assert all(record["cells"]["average_precision"] == 1 for record in records)
    assert "by_way" not in records[0]["cells"]


def test_a_clean_copy_that_does_not_go_with_the_file_is_refused(pets: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="one CSV file"):
        PlantedCells(clean=str(pets)).set_names(["bank"])
    pd.read_csv(pets).head(20).to_csv(shorter := tmp_path / "shorter.csv", index=False)
    for clean, said in ((shorter, "300 rows and 3 columns"), (pets, "do not differ")):
        record = execute_cells(Run(str(pets), "kernel", 0), PlantedCells(clean=str(clean)), "cpu")
        assert said in record["error"]
