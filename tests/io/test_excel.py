"""Workbooks: the right sheet, from its header on, with cells of their own types."""

from __future__ import annotations

from datetime import date, datetime

import openpyxl
import pyarrow as pa
import pytest

from maskdiff.errors import EmptyTableError, InputError, ReadingWarning, SettingError

from .written import csv_file, texts


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


CLAIMS = [
    ["id", "amount", "day", "open", "when", "mixed"],
    [1, 2.5, date(2024, 1, 2), True, datetime(2024, 1, 2, 3, 4), 7],
    [2, None, None, False, None, "n/a"],
]


def test_cells_keep_their_types(tmp_path):
    table = texts(workbook(tmp_path / "a.xlsx", Claims=CLAIMS))
    assert table.schema.names == CLAIMS[0]
    assert table.schema.types == [
        *(pa.int64(), pa.float64(), pa.date32(), pa.bool_(), pa.timestamp("us"), pa.string()),
    ]
    assert table.to_pylist()[0] == dict(zip(CLAIMS[0], [*CLAIMS[1][:5], "7"], strict=True))
    assert table["amount"].to_pylist() == [2.5, None]


def test_error_cells_are_missing(tmp_path):
    path = workbook(tmp_path / "a.xlsx", A=[["a", "b"], [1, "#N/A"], [2, "#REF!"], [3, 4]])
    book = openpyxl.load_workbook(path)
    for cell in ("B2", "B3"):
        book["A"][cell].data_type = "e"
    book.save(path)
    assert texts(path)["b"].to_pylist() == [None, None, 4]


def test_titles_above_the_header_and_empty_rows_are_left_out(tmp_path):
    rows = [["Claims of 2024"], [], *CLAIMS[:2], [], CLAIMS[2]]
    with pytest.warns(ReadingWarning, match="rows above the header left out: 1"):
        table = texts(workbook(tmp_path / "a.xlsx", Claims=rows))
    assert table["id"].to_pylist() == [1, 2]


def test_rows_that_repeat_the_header_are_left_out_with_a_notice(tmp_path):
    rows = [*CLAIMS[:2], CLAIMS[0], CLAIMS[2], CLAIMS[0]]
    with pytest.warns(ReadingWarning, match="rows that repeat the names of the columns left out: 2"):
        table = texts(workbook(tmp_path / "a.xlsx", Claims=rows))
    assert table["id"].to_pylist() == [1, 2]
    assert table.schema.field("amount").type == pa.float64()


def test_a_sheet_is_read_by_its_name(tmp_path):
    path = workbook(tmp_path / "a.xlsx", First=[["x"], ["a"]], Second=[["y"], ["b"]], Empty=[])
    assert texts(path, sheet="Second").to_pydict() == {"y": ["b"]}
    with pytest.warns(ReadingWarning, match="the first, 'First', is read"):
        assert texts(path).to_pydict() == {"x": ["a"]}
    with pytest.raises(SettingError, match="no sheet 'Third'; it has 'First', 'Second', 'Empty'"):
        texts(path, sheet="Third")
    with pytest.raises(EmptyTableError, match="'Empty' is empty"):
        texts(path, sheet="Empty")


def test_a_sheet_without_header_gets_names(tmp_path):
    path = workbook(tmp_path / "a.xlsx", A=[["cat", 4.5], ["dog", 7], ["cat", 4], ["dog", 8]])
    with pytest.warns(ReadingWarning, match="looks like data"):
        assert texts(path).to_pydict() == {"column_1": ["cat", "dog"] * 2, "column_2": [4.5, 7, 4, 8]}
    assert texts(path, header=True).column_names == ["cat", "4.5"]


def test_a_damaged_workbook_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match="is not a workbook, or is damaged"):
        texts(csv_file(tmp_path, b"PK\x03\x04 cut off", "a.xlsx"))
