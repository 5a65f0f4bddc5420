"""Cells replaced by what codes stand for: in a copy, as the column holds them, and only where it is read so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff import TableEncoder
from maskdiff.encoders.table.column_coder import CodeMeaning

NORMAL = pd.DataFrame(
    {
        "pet": ["cat", "dog", "cow", None] * 20,
        "legs": [4, 4, 3, 2] * 20,
        "price": ["1,5", "2,5", "1,5", "3"] * 20,
        "tame": [True, False, True, True] * 20,
        "weight": np.linspace(1, 9, 80),
        "born": pd.date_range("2024-01-01", periods=80),
    }
)
FIELDS = ["pet", "legs", "price", "tame"]


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder(derive_dates=False).fit(NORMAL)


def replace(encoder, X, values):
    """Row i of X gets this value in each column: a text as the field labels it."""
    cells = [(i, name, value) for i, line in enumerate(values) for name, value in line.items()]
    names = encoder.schema_.names
    fields = np.array([names.index(name) for _, name, _ in cells])
    codes = np.array([encoder.schema_.fields[j].labels.index(v) for j, (_, _, v) in zip(fields, cells, strict=True)])
    return encoder.replaced(X, np.array([i for i, _, _ in cells]), fields, codes)


def with_dictionaries(table):
    coded = [
        c.dictionary_encode() if n in ("pet", "legs") else c
        for n, c in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(coded, names=table.column_names)


WANTED = [{"pet": "cow", "legs": "3", "price": "2.5", "tame": "False"}, {"legs": "2", "tame": "True"}]
LIBRARIES = {
    "pandas": lambda rows: rows,
    "nullable": lambda rows: rows.convert_dtypes(),
    "categorical": lambda rows: rows.assign(pet=rows["pet"].astype("category"), price=rows["price"].astype("category")),
    "objects": lambda rows: rows.astype(object),
    "polars": pl.from_pandas,
    "arrow": lambda rows: pa.Table.from_pandas(rows, preserve_index=False),
    "dictionaries": lambda rows: with_dictionaries(pa.Table.from_pandas(rows, preserve_index=False)),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_cells_are_replaced_in_a_copy_of_the_same_type(encoder, library):
    rows = NORMAL.head(6).assign(pet=["x", "dog", "cat", "cow", "cat", "dog"])
    X = LIBRARIES[library](rows)
    before = encoder.encode(X).values.copy()
    fixed, done = replace(encoder, X, WANTED)
    assert done.all()
    assert type(fixed) is type(X)
    np.testing.assert_array_equal(encoder.encode(X).values, before)
    codes = encoder.encode(fixed)
    for i, line in enumerate(WANTED):
        for name, label in line.items():
            at = FIELDS.index(name)
            assert codes.schema.fields[at].label(codes.values[i, at]) == label
    unchanged = np.ones(before.shape, dtype=bool)
    unchanged[0, :4] = unchanged[1, [1, 3]] = False
    np.testing.assert_array_equal(codes.values[unchanged], before[unchanged])
    if library == "pandas":
        assert fixed.dtypes.equals(rows.dtypes)
        assert fixed.loc[0, "price"] == "2,5"
    if library in ("arrow", "dictionaries"):
        assert fixed.schema.types == X.schema.types
    if library == "polars":
        assert fixed.schema == X.schema


@pytest.mark.parametrize(
    "library", [list, np.array, lambda rows: np.array(rows, dtype=str)], ids=["lists", "objects", "texts"]
)
def test_arrays_and_lists_stay_what_they_are(library):
    encoder = TableEncoder().fit([["cat", "meow"], ["dog", "woof"]] * 20)
    X = library([["cat", "m"], ["dog", "woof"]])
    fixed, done = encoder.replaced(X, np.array([0]), np.array([1]), np.array([0]))
    assert done.all()
    assert type(fixed) is type(X)
    assert [list(map(str, line)) for line in fixed] == [["cat", "meow"], ["dog", "woof"]]
    assert str(X[0][1]) == "m"


def test_numbers_of_an_array_stay_numbers():
    encoder = TableEncoder().fit(np.array([[1, 5], [2, 6]] * 20))
    fixed, done = encoder.replaced(np.array([[1, 9], [2, 6]]), np.array([0]), np.array([1]), np.array([0]))
    assert done.all()
    assert fixed.tolist() == [[1, 5], [2, 6]]
    assert fixed.dtype == np.int64


def test_what_stands_for_no_single_value_is_left_and_said(encoder):
    rows = NORMAL.head(3)
    names = encoder.schema_.names
    fields = np.array([names.index("pet"), names.index("weight"), names.index("born")])
    codes = np.array([encoder.schema_.fields[0].labels.index("missing"), 2, 2])
    assert encoder.values_of(fields, codes) == [CodeMeaning.MISSING, CodeMeaning.INTERVAL, CodeMeaning.INTERVAL]
    fixed, done = encoder.replaced(rows, np.arange(3), fields, codes)
    assert not done.any()
    pd.testing.assert_frame_equal(fixed, rows)


def test_rare_values_and_computed_fields_stand_for_no_single_value():
    rows = NORMAL[["pet", "born"]].assign(other=NORMAL["born"] + pd.to_timedelta(np.arange(80) % 7 + 1, unit="D"))
    encoder = TableEncoder(max_categories=2).fit(rows)
    computed = len(encoder.columns_read_)
    assert encoder.values_of(np.array([0, computed]), np.array([2, 0])) == [CodeMeaning.RARE, CodeMeaning.COMPUTED]


def test_what_the_column_cannot_hold_is_left():
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.0, 2.5, 4.0] * 20}))
    whole = pd.DataFrame({"n": [1, 4, 7]})
    fixed, done = encoder.replaced(whole, np.array([2]), np.array([0]), np.array([1]))
    assert not done.any()
    pd.testing.assert_frame_equal(fixed, whole)
