"""Odd cells of files: listed and repaired as in Python, over all cells of the file, however it is cut into batches."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maskdiff import TableDetector, TextDetector, save
from maskdiff.errors import CalibrationError, SettingError
from maskdiff.io import ReadOptions
from maskdiff.jobs import ScoreOptions, score_file, suggest_file

from ..wrong_cells import WRONG, contract_detector, make_contracts, wrong_cells

LISTED = ["row", "column", "value", "oddness", "p_value", "expected", "expected_probability", "note"]


@pytest.fixture(params=["mlp", "kernel"])
def detector(request) -> TableDetector:
    return contract_detector(request.param)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("rows") / "new.csv"
    wrong_cells().assign(id=range(120)).to_csv(path, index=False, sep=";")
    return str(path)


def in_file_order(cells: pd.DataFrame) -> pd.DataFrame:
    """As a file lists them: row by row, counted from 1."""
    ordered = pd.DataFrame(cells).assign(row=cells["row"] + 1).sort_values("row", kind="stable")
    return ordered.reset_index(drop=True)


@pytest.mark.parametrize("rows_at_once", [7, 65_536])
def test_a_file_is_repaired_as_a_table_in_python(detector, path, tmp_path, rows_at_once):
    fixed, changes = tmp_path / "fixed.csv", tmp_path / "changes.csv"
    before = Path(path).read_bytes()
    reading = ReadOptions(rows_at_once=rows_at_once)
    summary = suggest_file(detector, path, str(fixed), changes=str(changes), reading=reading)
    repair = detector.repair(wrong_cells())
    assert Path(path).read_bytes() == before
    assert fixed.read_text().splitlines()[0] == before.decode().splitlines()[0]
    got, original = pd.read_csv(fixed, sep=";"), pd.read_csv(path, sep=";")
    right = make_contracts(120, 1).reset_index(drop=True)
    for column in ("office", "limit"):
        places = list(WRONG[column])
        assert got[column].iloc[places].tolist() == right[column].iloc[places].tolist()
    wanted = in_file_order(repair.changes)
    listed = pd.read_csv(changes, sep=";", keep_default_na=False)
    assert listed[["row", "column", "value", "expected", "kept_because", "changed"]].equals(
        wanted[["row", "column", "value", "expected", "kept_because", "changed"]]
    )
    pd.testing.assert_frame_equal(listed[["oddness", "p_value"]], wanted[["oddness", "p_value"]], rtol=1e-4)
    assert int(((got != original) & original.notna()).to_numpy().sum()) == summary.changed == repair.n_changed
    assert (summary.rows, summary.odd.cells, summary.odd.rows) == (120, len(wanted), wanted["row"].nunique())
    assert summary.odd.total == 120 * len(detector.encoder_.schema_)
    assert summary.ignored == ["id"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "arrow"])
def test_types_and_columns_of_a_file_stay(tmp_path, ending):
    detector = contract_detector()
    table = pa.Table.from_pandas(wrong_cells(), preserve_index=False)
    table = table.set_column(1, "office", table["office"].dictionary_encode())
    pq.write_table(table, tmp_path / "new.parquet")
    out = tmp_path / f"fixed.{ending}"
    summary = suggest_file(detector, str(tmp_path / "new.parquet"), str(out))
    assert summary.changed == detector.repair(table).n_changed > 0
    if ending == "parquet":
        assert pq.read_table(out).schema.equals(pq.read_table(tmp_path / "new.parquet").schema)


def test_score_lists_odd_cells_beside_the_rows(detector, path, tmp_path):
    plain, beside, cells = (tmp_path / name for name in ("plain.csv", "beside.csv", "cells.csv"))
    score_file(detector, path, str(plain))
    summary = score_file(detector, path, str(beside), cells=str(cells), reading=ReadOptions(rows_at_once=11))
    assert pd.read_csv(beside, sep=";").round(4).equals(pd.read_csv(plain, sep=";").round(4))
    listed = pd.read_csv(cells, sep=";", keep_default_na=False)
    wanted = in_file_order(detector.odd_cells(wrong_cells()))
    assert list(listed.columns) == LISTED
    assert listed[["row", "column", "value", "expected"]].equals(wanted[["row", "column", "value", "expected"]])
    assert summary.odd_cells.cells == len(listed)
    more = score_file(detector, path, str(plain), ScoreOptions(false_discovery_rate=0.4), cells=str(cells))
    assert more.odd_cells.false_discovery_rate == 0.4
    assert more.odd_cells.cells > summary.odd_cells.cells
    assert score_file(detector, path, str(plain)).odd_cells is None


def test_a_file_without_odd_cells_is_copied(tmp_path):
    make_contracts(30, 9).to_csv(tmp_path / "fine.csv", index=False)
    fixed, changes = tmp_path / "fixed.csv", tmp_path / "changes.csv"
    rate = 0.001
    summary = suggest_file(
        contract_detector(), str(tmp_path / "fine.csv"), str(fixed), changes=str(changes), false_discovery_rate=rate
    )
    assert (summary.odd.cells, summary.changed) == (0, 0)
    assert fixed.read_bytes() == (tmp_path / "fine.csv").read_bytes()
    assert changes.read_text().splitlines() == [",".join([*LISTED, "changed", "kept_because"])]


def test_cells_too_few_among_many_are_counted_though_none_is_reported(tmp_path):
    rows = make_contracts(200, 3)
    rows.loc["c5", "colour"] = "purple"
    rows.to_csv(tmp_path / "new.csv", index=False)
    summary = suggest_file(contract_detector(), str(tmp_path / "new.csv"), str(tmp_path / "fixed.csv"))
    assert summary.odd.cells == 0
    assert summary.odd.beyond >= 1
    assert 0.1 < summary.odd.finest_rate <= 1


def test_what_is_read_is_never_written_over_and_two_files_are_two(path, tmp_path):
    model = tmp_path / "model.maskdiff"
    save(contract_detector(), model)
    out = str(tmp_path / "fixed.csv")
    for wrong in (path, str(model)):
        with pytest.raises(SettingError, match="is read and cannot be written"):
            suggest_file(model, path, wrong)
        with pytest.raises(SettingError, match="is read and cannot be written"):
            suggest_file(model, path, out, changes=wrong)
        with pytest.raises(SettingError, match="is read and cannot be written"):
            score_file(model, path, out, cells=wrong)
    with pytest.raises(SettingError, match="twice"):
        suggest_file(model, path, out, changes=out)
    with pytest.raises(SettingError, match="twice"):
        score_file(model, path, out, cells=out)
    assert not Path(out).exists()


def test_settings_that_make_no_sense_are_refused(path, tmp_path):
    out = str(tmp_path / "fixed.csv")
    with pytest.raises(SettingError, match="at_least"):
        suggest_file(contract_detector(), path, out, at_least=2)
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        suggest_file(contract_detector(), path, out, false_discovery_rate=0)
    assert not Path(out).exists()


@pytest.mark.usefixtures("hardly_trained")
def test_rows_of_tokens_have_no_cells(tmp_path):
    texts = pd.DataFrame({"text": ["see you at nine", "see you at ten", "at noon"] * 20})
    texts.to_csv(tmp_path / "texts.csv", index=False)
    detector = TextDetector(column="text", vocab_size=60, progress=False).fit(texts)
    with pytest.raises(SettingError, match="only tables"):
        suggest_file(detector, str(tmp_path / "texts.csv"), str(tmp_path / "fixed.csv"))
    with pytest.raises(SettingError, match="only tables"):
        score_file(detector, str(tmp_path / "texts.csv"), str(tmp_path / "s.csv"), cells=str(tmp_path / "c.csv"))
