"""Files under a wrong name are read as what they hold, with a notice."""

from __future__ import annotations

import pyarrow as pa
import pytest

from maskdiff.errors import InputError, ReadingWarning

from .test_excel import workbook
from .written import csv_file, texts, write


def test_a_workbook_under_the_name_of_a_text_is_read(tmp_path):
    path = workbook(tmp_path / "a.xlsx", A=[["x", "y"], [1, "p"], [2, "q"]]).rename(tmp_path / "a.csv")
    with pytest.warns(ReadingWarning, match=r"a.csv is named like csv, but holds excel"):
        assert texts(path).to_pydict() == {"x": [1, 2], "y": ["p", "q"]}


def test_parquet_under_the_name_of_a_text_is_read(tmp_path):
    write(tmp_path / "a.parquet", pa.table({"n": [1, 2]}))
    path = (tmp_path / "a.parquet").rename(tmp_path / "a.jsonl")
    with pytest.warns(ReadingWarning, match="holds parquet"):
        assert texts(path)["n"].to_pylist() == [1, 2]


def test_tabs_under_the_name_of_a_workbook_are_read(tmp_path):
    with pytest.warns(ReadingWarning, match=r"export.xls is named like excel, but holds csv"):
        assert texts(csv_file(tmp_path, "a\tb\n1\t2\n", "export.xls")).to_pylist() == [{"a": "1", "b": "2"}]


def test_a_web_page_under_the_name_of_a_workbook_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(InputError, match=r"a web page under the name of a workbook.*save it as \.xlsx"):
        texts(csv_file(tmp_path, "\n<html><table></table></html>", "export.xls"))


def test_a_format_that_is_given_is_taken(tmp_path):
    with pytest.raises(InputError, match="is not a workbook, or is damaged"):
        texts(csv_file(tmp_path, "a,b\n1,2\n", "rows.xlsx"), format="excel")
