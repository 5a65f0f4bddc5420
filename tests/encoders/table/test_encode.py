"""Cells at scoring that are not what they were at fit, and how cells are shown."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnTypeError

NORMAL = pd.DataFrame(
    {
        "pet": ["cat", "dog", "cat", None] * 10,
        "age": np.arange(40) / 2,
        "legs": [4, 4, 2, 4] * 10,
        "born": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(40), unit="D"),
        "tame": [True, False] * 20,
    }
)
ROW = {"pet": "dog", "age": 3.0, "legs": 4, "born": pd.Timestamp("2024-01-05"), "tame": True}
CODES = [1, 2, 1, 1, 1]


@pytest.fixture
def encoder() -> TableEncoder:
    return TableEncoder().fit(NORMAL)


def codes_of(encoder: TableEncoder, **cells: Any) -> list[int]:
    """The codes of one ordinary row, with these cells instead."""
    row = {name: pd.Series([value], dtype=object) for name, value in (ROW | cells).items()}
    return encoder.encode(pd.DataFrame(row)).values[0].tolist()


def code_of(encoder: TableEncoder, name: str, value: Any) -> int:
    return codes_of(encoder, **{name: value})[encoder.schema_.names.index(name)]


# Cells that are not what they were -----------------------------------------------------------------------------------


def test_an_ordinary_row_has_ordinary_codes(encoder: TableEncoder) -> None:
    assert codes_of(encoder) == CODES


def test_unseen_values_everywhere_are_unseen_everywhere(encoder: TableEncoder) -> None:
    codes = codes_of(encoder, pet="yak", age=np.inf, legs=8, born="soon", tame="perhaps")
    assert codes == encoder.schema_.sizes.tolist()


@pytest.mark.parametrize("value", [3.0, 3, "3", "3.0", " 3e0 ", Decimal("3.00"), np.float32(3), b"3"], ids=repr)
def test_a_number_is_read_from_any_type(encoder: TableEncoder, value: Any) -> None:
    assert code_of(encoder, "age", value) == CODES[1]


@pytest.mark.parametrize("value", ["three", "", "nan", np.inf, -np.inf, "inf", None, date(2024, 1, 1)], ids=repr)
def test_what_is_no_finite_number_is_unseen_in_a_number_column(encoder: TableEncoder, value: Any) -> None:
    assert code_of(encoder, "age", value) == encoder.schema_.fields[1].size


@pytest.mark.parametrize("value", [4, 4.0, "4", "4.0", Decimal(4)], ids=repr)
def test_a_number_among_few_is_read_from_any_type(encoder: TableEncoder, value: Any) -> None:
    assert code_of(encoder, "legs", value) == 1


@pytest.mark.parametrize(
    "value",
    ["2024-01-05", "2024-01-05 12:00", "2024-01-05T12:00:00+02:00", "20240105", date(2024, 1, 5), datetime(2024, 1, 5)],
    ids=repr,
)
def test_a_date_is_read_from_iso_text_and_objects(encoder: TableEncoder, value: Any) -> None:
    assert code_of(encoder, "born", value) == 1


@pytest.mark.parametrize("value", ["05.01.2024", "", "now", 5, 1.5, True, time(5), timedelta(1)], ids=repr)
def test_what_is_no_date_is_unseen_in_a_date_column(encoder: TableEncoder, value: Any) -> None:
    assert code_of(encoder, "born", value) == 10


def test_times_and_durations_are_read_from_text() -> None:
    frame = pl.DataFrame({"at": [time(5), time(6, 30)], "lasts": [timedelta(hours=1), timedelta(days=2)]})
    encoder = TableEncoder().fit(frame)
    rows = [["06:30", "1:00:00"], [time(5), "2 days, 0:00:00"], ["noon", "long"], ["05:00:00", timedelta(2)]]
    assert encoder.encode(rows).values.tolist() == [[1, 0], [0, 1], [2, 2], [0, 1]]


def test_numbers_in_a_text_column_are_compared_by_their_text() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["1", "2.5", "01"]}))
    assert encoder.encode(pd.DataFrame({"a": [1, 2]})).values[:, 0].tolist() == [1, 3]
    assert encoder.encode(pd.DataFrame({"a": [1.0, 2.5]})).values[:, 0].tolist() == [1, 2]
    assert encoder.encode(pd.DataFrame({"a": [True]})).values[:, 0].tolist() == [3]


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("age", pd.to_datetime(["2024-01-01"])),
        ("legs", pd.to_datetime(["2024-01-01"])),
        ("age", pd.to_timedelta([1], unit="D")),
        ("born", [1]),
        ("born", [1.5]),
        ("born", [True]),
        ("born", pd.to_timedelta([1], unit="D")),
    ],
    ids=["number-date", "few-date", "number-duration", "date-int", "date-float", "date-bool", "date-duration"],
)
def test_a_column_whose_type_became_another_kind_is_an_error_that_names_it(
    encoder: TableEncoder, name: str, column: Any
) -> None:
    with pytest.raises(ColumnTypeError, match=f"column {name!r} was to be read as"):
        encoder.encode(NORMAL[:1].assign(**{name: column}))


def test_the_error_speaks_of_the_name_at_fit_even_for_an_array(encoder: TableEncoder) -> None:
    with pytest.raises(ColumnTypeError, match="'born'"):
        encoder.encode(np.zeros((1, 5)))


def test_a_column_that_became_nested_is_an_error_that_names_it(encoder: TableEncoder) -> None:
    with pytest.raises(ColumnTypeError, match="'pet' holds nested"):
        encoder.encode(NORMAL[:1].assign(pet=[["cat", "dog"]]))


def test_an_all_missing_column_at_scoring_is_missing_or_unseen(encoder: TableEncoder) -> None:
    for nothing in (None, np.nan, pd.NaT):
        empty = pd.DataFrame({name: [nothing] for name in NORMAL})
        assert encoder.encode(empty).values.tolist() == [[2, encoder.schema_.fields[1].size, 2, 10, 2]]


def test_categories_with_unused_entries_are_no_concern(encoder: TableEncoder) -> None:
    pets = pd.Categorical(["dog"], categories=["yak", "dog", "cat"])
    assert encoder.encode(NORMAL[:1].assign(pet=pets)).values[0, 0] == 1


# Display -------------------------------------------------------------------------------------------------------------


def test_cells_are_shown_as_a_person_reads_them(encoder: TableEncoder) -> None:
    frame = NORMAL[:4].assign(age=[0.5, 1 / 3, np.nan, 7.0])
    rows, fields = [3, 1, 2, 3, 0, 0], ["pet", "age", 1, 1, np.int64(3), "tame"]
    wanted = ["missing", "0.3333333333333333", "missing", "7", "2024-01-01", "True"]
    for table in (frame, pl.from_pandas(frame), frame.astype(object)):
        assert encoder.display(table, rows, fields) == wanted
    assert encoder.display(frame, [], []) == []


def test_a_text_called_missing_is_not_shown_as_a_missing_value() -> None:
    encoder = TableEncoder().fit([["x"], [""]])
    assert encoder.display([[""], ["missing"], [None]], [0, 1, 2], [0, 0, 0]) == ["missing", "'missing'", "missing"]


def test_a_name_that_ends_in_nothing_is_still_a_name() -> None:
    """NumPy cuts such characters off the texts it compares."""
    frame = pd.DataFrame({"a": ["x", "y"], "a\0": ["p", "q"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.display(frame, [0, 1, 1], ["a\0", "a", 1]) == ["p", "y", "q"]
