"""What encode promises: columns found by name, types that changed, and no cell that depends on another."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff.encoders.table.encoder import TableEncoder, n_rows, take_rows
from maskdiff.errors import ColumnTypeError, InputError, LeftOutWarning, UnknownColumnError

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


# Where columns are found ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "table",
    [
        NORMAL,
        pl.from_pandas(NORMAL),
        pa.Table.from_pandas(NORMAL),
        pa.Table.from_pandas(NORMAL).to_batches()[0],
        NORMAL.to_numpy(),
        NORMAL.to_numpy().tolist(),
        NORMAL[NORMAL.columns[::-1]],
        pa.concat_tables([pa.Table.from_pandas(NORMAL[:7]), pa.Table.from_pandas(NORMAL[7:])]),
        NORMAL.astype({"pet": "category"}),
        NORMAL.convert_dtypes(dtype_backend="pyarrow"),
        NORMAL.astype(object),
    ],
    ids=[
        "pandas",
        "polars",
        "arrow",
        "batch",
        "numpy",
        "lists",
        "reversed",
        "chunks",
        "category",
        "nullable",
        "object",
    ],
)
def test_a_table_gives_the_same_codes_in_every_form(encoder: TableEncoder, table: Any) -> None:
    codes = encoder.encode(table)
    assert codes.values.tolist() == encoder.encode(NORMAL).values.tolist()
    assert codes.values.dtype == encoder.schema_.code_dtype
    assert codes.schema is encoder.schema_
    assert codes.known.all()


def test_the_form_at_fit_does_not_matter_either(encoder: TableEncoder) -> None:
    assert TableEncoder().fit(pl.from_pandas(NORMAL)).schema_ == encoder.schema_
    assert TableEncoder().fit(pa.Table.from_pandas(NORMAL)).schema_ == encoder.schema_
    assert TableEncoder().fit(NORMAL.astype(object)).schema_ == encoder.schema_


def test_missing_and_extra_columns_are_named_with_the_way_out(encoder: TableEncoder) -> None:
    with pytest.raises(UnknownColumnError, match=r"Missing: 'pet', 'tame'; add them, or fit again without"):
        encoder.encode(NORMAL.drop(columns=["pet", "tame"]))
    with pytest.raises(UnknownColumnError, match=r"Not seen during fit: 'x', 'y'; drop them.*'x': \"drop\""):
        encoder.encode(NORMAL.assign(x=1, y=2))
    with pytest.raises(UnknownColumnError, match=r"Missing: 'pet'.*Not seen during fit: 'Pet'"):
        encoder.encode(NORMAL.rename(columns={"pet": "Pet"}))


def test_the_way_out_for_an_extra_column_works() -> None:
    encoder = TableEncoder({"x": "drop"}).fit(NORMAL)
    assert len(encoder.encode(NORMAL.assign(x=1))) == len(NORMAL)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pa.table([[1], [2]], names=["a", "a"]),
    ],
    ids=["pandas", "as-text", "arrow"],
)
def test_two_columns_of_one_name_are_refused_at_fit_and_at_scoring(encoder: TableEncoder, table: Any) -> None:
    for use in (TableEncoder().fit, encoder.encode):
        with pytest.raises(UnknownColumnError, match=r"more than one column is named '(a|1)'"):
            use(table)


def test_numpy_columns_are_named_by_position() -> None:
    encoder = TableEncoder({"x1": "category"}).fit(np.arange(80).reshape(40, 2) % 30)
    assert encoder.feature_names_in_.tolist() == ["x0", "x1"]
    assert [field.type for field in encoder.schema_] == ["category", "category"]
    assert not encoder.named_
    assert TableEncoder().fit(NORMAL).named_


@pytest.mark.parametrize("width", [4, 6])
def test_numpy_must_have_as_many_columns_as_at_fit(encoder: TableEncoder, width: int) -> None:
    with pytest.raises(UnknownColumnError, match=f"X has {width} features, but TableEncoder is expecting 5 features"):
        encoder.encode(np.zeros((1, width)))


def test_numpy_holds_the_columns_left_out_too() -> None:
    with pytest.warns(LeftOutWarning):
        encoder = TableEncoder().fit(pd.DataFrame({"id": range(30), "x": [1, 2] * 15}))
    assert encoder.encode(np.array([[99, 2]])).values.tolist() == [[1]]
    with pytest.raises(UnknownColumnError, match="expecting 2"):
        encoder.encode(np.array([[2]]))


def test_fitted_without_names_a_frame_is_read_by_its_names_or_else_by_position() -> None:
    encoder = TableEncoder().fit(np.array([[1, 10], [2, 20]]))
    assert encoder.encode(pd.DataFrame({"x1": [20], "x0": [1]})).values.tolist() == [[0, 1]]
    assert encoder.encode(pd.DataFrame({"b": [1], "a": [20]})).values.tolist() == [[0, 1]]
    with pytest.raises(UnknownColumnError, match="Missing: 'x0', 'x1'"):
        encoder.encode(pd.DataFrame({"b": [1]}))


def test_names_that_are_no_text_are_known_by_their_text() -> None:
    encoder = TableEncoder().fit(pd.DataFrame([[1, "a"]]))
    assert encoder.feature_names_in_.tolist() == ["0", "1"]
    assert encoder.encode(pl.DataFrame({"1": ["a"], "0": [1]})).values.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (pl.LazyFrame({"a": [1]}), "collect"),
        (pd.Series([1, 2]), "Reshape your data"),
        (np.arange(3), "Reshape your data"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([1, 2, 3], "Reshape your data"),
        ("text", "expected a pandas"),
        ({"a": [1]}, "builtins.dict"),
        (None, "NoneType"),
    ],
    ids=["lazy", "series", "1d", "3d", "list", "text", "dict", "none"],
)
def test_what_is_no_table_is_refused_in_words(thing: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        TableEncoder().fit(thing)


def test_a_sparse_matrix_is_refused_in_words() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"sparse.*toarray"):
        TableEncoder().fit(sparse.csr_matrix(np.eye(2)))


def test_masked_and_unusual_numpy_cells_are_read() -> None:
    masked = np.ma.masked_array([[1, 2], [1, 2]], mask=[[False, False], [False, True]])
    assert TableEncoder().fit(masked).schema_.fields[1].labels == ("2", "missing")
    assert TableEncoder().fit(np.array([[b"x"]])).schema_.fields[0].labels == ("x",)
    assert TableEncoder().fit(np.array([[1.5]], dtype=np.longdouble)).schema_.fields[0].labels == ("1.5",)
    assert TableEncoder().fit(np.array([["2024-01-01T05"]], dtype="M8[h]")).schema_.fields[0].labels == (
        "2024-01-01T05:00:00",
    )


def test_no_rows_give_no_codes(encoder: TableEncoder) -> None:
    for empty in (NORMAL[:0], pd.DataFrame(columns=NORMAL.columns), pl.from_pandas(NORMAL)[:0], np.empty((0, 5))):
        assert encoder.encode(empty).values.shape == (0, 5)


def test_rows_of_any_table_can_be_counted_and_taken(encoder: TableEncoder) -> None:
    for table in (NORMAL, pl.from_pandas(NORMAL), NORMAL.to_numpy()):
        assert n_rows(table) == 40
        some = take_rows(take_rows(table, np.arange(40) % 2 == 1), [3, 0])
        assert n_rows(some) == 2
        assert encoder.encode(some).values.tolist() == encoder.encode(NORMAL).values[[7, 1]].tolist()


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


def test_an_empty_text_is_shown_as_one() -> None:
    encoder = TableEncoder().fit([["x"], [""]])
    assert encoder.display([[""], ["missing"], [None]], [0, 1, 2], [0, 0, 0]) == ["''", "'missing'", "missing"]


def test_a_name_that_ends_in_nothing_is_still_a_name() -> None:
    """NumPy cuts such characters off the texts it compares."""
    frame = pd.DataFrame({"a": ["x", "y"], "a\0": ["p", "q"]})
    encoder = TableEncoder().fit(frame)
    assert encoder.display(frame, [0, 1, 1], ["a\0", "a", 1]) == ["p", "y", "q"]
