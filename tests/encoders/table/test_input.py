"""Tables of any library, and where their columns are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.errors import InputError, LeftOutWarning, UnknownColumnError

NORMAL = pd.DataFrame(
    {
        "pet": ["cat", "dog", "cat", None] * 10,
        "age": np.arange(40) / 2,
        "legs": [4, 4, 2, 4] * 10,
        "born": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(40), unit="D"),
        "tame": [True, False] * 20,
    }
)


@pytest.fixture
def encoder() -> TableEncoder:
    return TableEncoder().fit(NORMAL)


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
    assert TableEncoder().fit(np.array([["2024-01-01T05"]], dtype="M8[h]")).schema_.fields[0].labels == ("2024-01-01",)


def test_no_rows_give_no_codes(encoder: TableEncoder) -> None:
    for empty in (NORMAL[:0], pd.DataFrame(columns=NORMAL.columns), pl.from_pandas(NORMAL)[:0], np.empty((0, 5))):
        assert encoder.encode(empty).values.shape == (0, 5)


def test_rows_of_any_table_can_be_counted_and_taken(encoder: TableEncoder) -> None:
    for table in (NORMAL, pl.from_pandas(NORMAL), NORMAL.to_numpy()):
        assert read_table(table).n_rows == 40
        some = read_table(table).take(np.arange(40) % 2 == 1).take([3, 0])
        assert some.n_rows == 2
        assert encoder.encode(some).values.tolist() == encoder.encode(NORMAL).values[[7, 1]].tolist()
