"""What the cells of a column stand for is decided by all rows."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.cells import parse_number
from maskdiff.encoders.table.column_types import COLUMN_TYPES

from .written import csv_file, typed, write

CELLS = {
    "whole": (["1", "02", "+3"], pa.int64()),
    "whole with a gap": (["1", "", "3"], pa.float64()),
    "number": (["1", "2.5", "1e3"], pa.float64()),
    "number, NA": (["1", "NA", "3"], pa.float64()),
    "truth": (["true", "FALSE", "True"], pa.bool_()),
    "date": (["2024-02-29", "2024-03-01T10:00", "2024-03-02 11:00:00Z"], pa.timestamp("us")),
    "no date": (["2024-02-30", "2024-03-01", "2024-03-02"], pa.large_string()),
    "word": (["1", "2", "two"], pa.large_string()),
    "hexadecimal": (["0x1F", "1", "2"], pa.large_string()),
    "underscores": (["1_000", "1", "2"], pa.large_string()),
}


def test_the_cells_of_a_csv_column_decide_its_type(tmp_path):
    pd.DataFrame({name: cells for name, (cells, _) in CELLS.items()}).to_csv(tmp_path / "rows.csv", index=False)
    table = typed(tmp_path / "rows.csv")
    assert {name: table.schema.field(name).type for name in CELLS} == {name: kind for name, (_, kind) in CELLS.items()}


def test_types_are_those_of_pandas_but_for_dates(tmp_path):
    table = pd.DataFrame({name: cells for name, (cells, _) in CELLS.items() if name != "date"})
    table.to_csv(tmp_path / "rows.csv", index=False)
    theirs, ours = pd.read_csv(tmp_path / "rows.csv"), typed(tmp_path / "rows.csv").to_pandas()
    pd.testing.assert_frame_equal(ours.astype(theirs.dtypes), theirs)
    kinds = {name: (theirs[name].dtype.kind, ours[name].dtype.kind) for name in table}
    assert all(a == b for a, b in kinds.values()), kinds


def test_the_last_row_counts_as_much_as_the_first(tmp_path):
    path = csv_file(tmp_path, "n\n" + "1\n" * 200_000 + "none of your business\n")
    assert typed(path).schema.field("n").type == pa.large_string()


def test_texts_of_a_typed_format_stay_texts_unless_they_are_all_dates(tmp_path):
    write(tmp_path / "rows.parquet", pa.table({"code": ["007", "012"], "day": ["2024-01-01", None]}))
    table = typed(tmp_path / "rows.parquet")
    assert table.schema.types == [pa.large_string(), pa.timestamp("us")]
    assert table["code"].to_pylist() == ["007", "012"]


ODD_NUMBERS = st.sampled_from(["7", "-1.50", " 2", "1e3", "9007199254740993", "+4", ".5", "inf", "1e400", "x", "0x1F"])
NUMBERS = st.one_of(st.none(), ODD_NUMBERS, st.floats(allow_nan=False).map(repr), st.integers().map(str))


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_read_the_quick_way_are_those_read_one_by_one(cells):
    quick = COLUMN_TYPES["number"].quick_csv(pa.array(cells, pa.string())).to_pylist()
    slow = [None if cell is None else parse_number(cell) for cell in cells]
    assert [parse_number(cell) if isinstance(cell, str) else cell for cell in quick] == slow
