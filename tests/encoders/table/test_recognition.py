"""What the texts of a column stand for is decided by all rows, and the same in every format."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.written import csv_file, typed, write

from maskdiff.encoders.table.cells import parse_number
from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.recognition import TextRecognition
from maskdiff.errors import AmbiguousColumnWarning, SettingError

CELLS = {
    "whole": (["1", "20", "+3"], pa.int64()),
    "whole with a gap": (["1", "", "3"], pa.int64()),
    "number": (["1", "2.5", "1e3"], pa.float64()),
    "number, NA": (["1.5", "NA", "3"], pa.float64()),
    "truth": (["true", "FALSE", "True"], pa.bool_()),
    "date": (["2024-02-29", "2024-03-01T10:00", "2024-03-02 11:00:00Z"], pa.timestamp("us")),
    "no date": (["2024-02-30", "2024-03-01", "2024-03-02"], pa.large_string()),
    "word": (["1", "2", "two"], pa.large_string()),
    "hexadecimal": (["0x1F", "1", "2"], pa.large_string()),
    "underscores": (["1_000", "1", "2"], pa.large_string()),
    "leading zero": (["01234", "90210", "10115"], pa.large_string()),
    "marked as text": (["'007", "12", "13"], pa.large_string()),
    "telephone": (["+49 171 123 456", "+49 171 123 457", "+49 171 123 458"], pa.large_string()),
    "two currencies": (["$5", "€6", "$7"], pa.large_string()),
}


def recognised(cells, decimal=None):
    recognition = TextRecognition()
    recognition.add(pa.array(cells, pa.large_string()))
    return recognition.found(decimal)[0]


def numbers(cells, decimal=None):
    found = recognised(cells, decimal).column_type
    return found.numbers(Column("x", pa.array(cells, pa.large_string()), found)).tolist()


def test_the_cells_of_a_csv_column_decide_its_type(tmp_path):
    pd.DataFrame({name: cells for name, (cells, _) in CELLS.items()}).to_csv(tmp_path / "rows.csv", index=False)
    table = typed(tmp_path / "rows.csv")
    assert {name: table.schema.field(name).type for name in CELLS} == {name: kind for name, (_, kind) in CELLS.items()}


def test_types_are_those_of_pandas_but_for_dates_and_leading_zeros(tmp_path):
    table = pd.DataFrame({name: cells for name, (cells, _) in CELLS.items() if name not in ("date", "leading zero")})
    table.to_csv(tmp_path / "rows.csv", index=False)
    theirs, ours = pd.read_csv(tmp_path / "rows.csv"), typed(tmp_path / "rows.csv").to_pandas()
    pd.testing.assert_frame_equal(ours.astype(theirs.dtypes), theirs)
    dtypes = {name: (theirs[name].dtype.kind, ours[name].dtype.kind) for name in table}
    assert all(a == b for a, b in dtypes.values()), dtypes


def test_the_last_row_counts_as_much_as_the_first(tmp_path):
    path = csv_file(tmp_path, "n\n" + "1\n" * 200_000 + "none of your business\n")
    assert typed(path).schema.field("n").type == pa.large_string()


def test_texts_of_a_typed_format_are_read_as_those_of_a_csv_file(tmp_path):
    cells = pa.table({"code": ["007", "012"], "day": ["2024-01-01", "NA"], "price": ["1.234,50", ""]})
    write(tmp_path / "rows.parquet", cells)
    write(tmp_path / "rows.csv", cells)
    parquet, csv = typed(tmp_path / "rows.parquet"), typed(tmp_path / "rows.csv")
    assert parquet == csv
    assert parquet.schema.types == [pa.large_string(), pa.timestamp("us"), pa.float64()]
    assert parquet["price"].to_pylist() == [1234.5, None]


WRITTEN = {
    "US": ["1,234.56", "7.5", "1,234,567"],
    "German": ["1.234,56", "7,5", "1.234.567"],
    "French": ["1 234,56", "7,5", "1 234 567"],
    "no-break space": ["1\u00a0234,56", "7,5", "1\u00a0234\u00a0567"],
    "narrow no-break space": ["1\u202f234,56", "7,5", "1\u202f234\u202f567"],
    "Swiss": ["1'234.56", "7.5", "1'234'567"],
    "Swiss, typographic": ["1\u2019234.56", "7.5", "1\u2019234\u2019567"],
    "Indian": ["1,234.56", "7.5", "12,34,567"],
    "without groups": ["1234,56", "7,5", "1234567"],
    "dollars": ["$1,234.56", "$7.50", "$1,234,567"],
    "euros": ["1.234,56 EUR", "7,50 EUR", "1.234.567 EUR"],
    "euros, one without": ["1.234,56 €", "7,50", "1.234.567 €"],
    "blanks around": [" 1,234.56", "7.5 ", "  1,234,567  "],
    "scientific": ["1.23456e3", "75e-1", "1.234567E+6"],
    "apostrophe before": ["'1,234.56", "'7.5", "'1,234,567"],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_numbers_are_read_as_people_write_them(name):
    assert numbers(WRITTEN[name]) == [1234.56, 7.5, 1234567.0]


@pytest.mark.parametrize(
    "cells",
    [
        *(["(1,200.5)", "3"], ["1,200.5-", "3"], ["-1,200.5", "3"], ["\u22121200.5", "3"], ["($1,200.50)", "$3"]),
        *(["-$1,200.50", "$3"], ["$-1,200.50", "$3"], ["1.200,50- EUR", "3,00 EUR"]),
    ],
)
def test_negative_numbers_are_read_as_people_write_them(cells):
    assert numbers(cells) == [-1200.5, 3.0]


def test_percent_is_read_in_its_own_unit():
    assert numbers(["45%", "0.5 %"]) == [45.0, 0.5]


@pytest.mark.parametrize("cells", [["1,234", "12,345"], ["1.234", "12.345"]])
def test_where_both_readings_fit_the_point_is_the_decimal_sign_and_a_notice_says_so(cells):
    found = recognised(cells)
    assert found.column_type.format.decimal == "."
    assert found.doubt.startswith(f"{cells[0]} was read as ")
    assert 'set decimal=","' in found.doubt
    assert numbers(cells, ",")[0] == {"1,234": 1.234, "1.234": 1234}[cells[0]]
    assert recognised(cells, ",").doubt is None


@pytest.mark.parametrize("cells", [["1,234", "1,234,567"], ["1,234", "0,5"], ["1", "2"], ["1.5", "2"], ["1 234", "5"]])
def test_where_one_reading_fits_there_is_no_notice(cells):
    assert recognised(cells).doubt is None


def test_another_column_decides_where_both_readings_fit():
    table = pd.DataFrame({"paid": ["1.234", "2.345"] * 10, "price": ["1,5", "2.345,6"] * 10})
    recognition = TableEncoder().recognition()
    recognition.add(TableEncoder().read(table))
    found = recognition.found()["paid"]
    assert (found.column_type.format.decimal, found.doubt) == (",", None)


THOUSANDS = ["1.020", "2.350", "12.500", "300"] * 10


@pytest.mark.parametrize(
    ("cells", "beside", "first", "doubtful"),
    [
        (THOUSANDS, None, 1.02, True),
        ([*THOUSANDS, "1.234.567"], None, 1020, False),
        (THOUSANDS, "7,25", 1020, False),
        (THOUSANDS, "1.020,50 €", 1020, False),
        (THOUSANDS, "7.25", 1.02, False),
        ([*THOUSANDS, "1.5"], "7,25", 1.02, False),
        ([*THOUSANDS, "0.125"], "7,25", 1.02, False),
    ],
)
def test_thousands_with_points_alone_need_two_points_or_a_decimal_comma_beside(cells, beside, first, doubtful):
    columns = {"km": cells, "day": ["25.09.2024"] * len(cells)} | ({"price": [beside] * len(cells)} if beside else {})
    recognition = TableEncoder().recognition()
    recognition.add(TableEncoder().read(pd.DataFrame(columns)))
    found = recognition.found()["km"]
    assert found.column_type.from_texts(pa.array(cells, pa.large_string()))[0].as_py() == first
    assert (found.doubt is not None) == doubtful


def test_the_encoder_warns_where_both_readings_fit_and_takes_the_one_that_is_set():
    table = pd.DataFrame({"paid": [f"{n},125" for n in [*range(1, 40), *[7] * 61]]})
    with pytest.warns(AmbiguousColumnWarning, match=r"'paid': 1,125 was read as 1125, but may be 1\.125; set decimal"):
        TableEncoder().fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        field = TableEncoder(decimal=",").fit(table).schema_.fields[0]
    assert field.labels[0] == "1.125"
    with pytest.raises(SettingError, match="decimal must be"):
        TableEncoder(decimal=";").fit(table)


@settings(max_examples=25)  # each tries every way to read numbers and dates a dozen times
@given(st.lists(st.integers(0, 11), max_size=3), st.randoms(use_true_random=False))
def test_batches_and_merging_do_not_change_what_is_found(cuts, random):
    cells = [*WRITTEN["German"], "1.234", "5", None, "7,25", "12", "1.000", "3", "-", "9"]
    random.shuffle(cells)
    bounds = [0, *sorted(cuts), len(cells)]
    parts = [pa.array(cells[a:b], pa.large_string()) for a, b in pairwise(bounds)]
    streamed, merged = TextRecognition(), TextRecognition()
    for part in parts:
        streamed.add(part)
        other = TextRecognition()
        other.add(part)
        merged.merge(other)
    whole = recognised(cells).column_type
    for found in (streamed.found()[0], merged.found()[0]):
        assert (found.column_type.name, found.column_type.options().get("format")) == (
            whole.name,
            whole.options().get("format"),
        )


def test_a_cell_written_otherwise_is_read_plainly_or_unseen():
    normal = pd.DataFrame({"price": [f"{n},50 EUR" for n in range(100)]})
    encoder = TableEncoder(tails=0).fit(normal)
    codes = encoder.encode(pd.DataFrame({"price": ["70,50 EUR", "70.5", "70,50", "70,50 USD", "dear"]})).values[:, 0]
    assert codes[0] == codes[1] == codes[2] < encoder.schema_.fields[0].size
    assert codes[3:].tolist() == [encoder.schema_.fields[0].size] * 2


ODD_NUMBERS = st.sampled_from(["7", "-1.50", " 2", "1e3", "9007199254740993", "+4", ".5", "inf", "1e400", "x", "0x1F"])
NUMBERS = st.one_of(st.none(), ODD_NUMBERS, st.floats(allow_nan=False).map(repr), st.integers().map(str))


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_read_together_are_those_read_one_by_one(cells):
    number = COLUMN_TYPES["number"]
    together = number.numbers(Column("x", pa.array(cells, pa.large_string()), number))
    one_by_one = [None if cell is None else parse_number(cell) for cell in cells]
    np.testing.assert_array_equal(together, [np.nan if one is None else float(one) for one in one_by_one])
