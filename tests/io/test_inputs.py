"""Folders, patterns and zip archives; JSON arrays; formats by what a pipe begins with; ways out of what is not read."""

from __future__ import annotations

import json
import zipfile

import pyarrow as pa
import pytest

from maskdiff.errors import InputError, SettingError, UnknownColumnError
from maskdiff.io import format_of, open_rows

from .written import csv_file, texts, write


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    csv_file(folder, "b,a\n3,x\n", "2.csv")
    csv_file(folder, "a,b\ny,1\n\nz,2\n", "1.csv")
    csv_file(folder, "hidden", ".part")
    return folder


def test_a_folder_or_a_pattern_is_one_table_in_the_order_of_names(parts):
    expected = {"a": ["y", "z", "x"], "b": ["1", "2", "3"]}
    assert texts(parts).to_pydict() == expected
    assert texts(parts / "*.csv").to_pydict() == expected
    with open_rows(str(parts)) as rows:
        assert [batch.schema.names for batch in rows.batches([1])] == [["b"], ["b"]]
        assert (rows.skipped.total, rows.skipped.rows, rows.skipped.blank) == (6, 3, 1)


def test_files_with_other_columns_are_refused(parts):
    csv_file(parts, "a,c\n1,2\n", "3.csv")
    with pytest.raises(UnknownColumnError, match=r"3\.csv and .*1\.csv differ in: 'b', 'c'"):
        texts(parts)


def test_types_that_differ_between_files_become_texts(parts):
    write(parts / "3.parquet", pa.table({"a": ["p"], "b": [7]}))
    assert texts(parts)["b"].to_pylist() == ["1", "2", "3", "7"]


def test_a_pattern_that_fits_nothing_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file fits"):
        texts(tmp_path / "*.csv")


def test_a_zip_archive_with_one_file_is_read_as_that_file(tmp_path):
    write(tmp_path / "rows.parquet", pa.table({"n": [1, 2]}))
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.write(tmp_path / "rows.parquet", "deep/rows.parquet")
    with open_rows(str(tmp_path / "rows.zip")) as rows:
        assert rows.name.endswith("rows.zip")
        assert [batch.to_pydict() for batch in rows.batches()] == [{"n": [1, 2]}]
    with zipfile.ZipFile(tmp_path / "rows.zip", "a") as archive:
        archive.writestr("more.csv", "a\n1\n")
    with pytest.raises(InputError, match=r"holds 2 files, where one is needed: deep/rows.parquet, more.csv"):
        texts(tmp_path / "rows.zip")
    with pytest.raises(InputError, match="cannot be unpacked"):
        texts(csv_file(tmp_path, "a,b\n", "bad.zip"))


def test_a_json_array_of_objects_is_read_and_written(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"a": None, "b": "é"}]
    assert texts(csv_file(tmp_path, json.dumps(rows, indent=2), "rows.json")).to_pylist() == rows
    write(tmp_path / "copy.json", pa.Table.from_pylist(rows))
    assert json.loads((tmp_path / "copy.json").read_text()) == rows
    write(tmp_path / "none.json", pa.table({"a": pa.array([], pa.int64())}))
    assert json.loads((tmp_path / "none.json").read_text()) == []


def test_json_lines_under_the_name_json_are_still_read(tmp_path):
    assert texts(csv_file(tmp_path, '{"a": 1}\n{"a": 2}\n', "rows.json")).to_pydict() == {"a": [1, 2]}


def test_an_array_where_lines_are_expected_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(InputError, match=r'is a JSON array.*format="json"'):
        texts(csv_file(tmp_path, '[\n{"a": 1}\n]', "rows.jsonl"))


WAYS_OUT = {"x.pdf": "export its table", "m.maskdiff": "the model comes first", "x.7z": "Unpack", "x.pkl": "Parquet"}


@pytest.mark.parametrize("name", WAYS_OUT)
def test_what_is_not_read_gets_its_way_out(name):
    with pytest.raises(SettingError, match=WAYS_OUT[name]):
        format_of(name)
