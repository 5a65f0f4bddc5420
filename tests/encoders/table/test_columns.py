"""Cells that are missing, and cells no column can hold."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff.codes import Field
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnTypeError, SettingError

from .single_column import codes_of, field_of, fitted


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.datetime64("NaT")], ids=repr)
def test_every_way_to_say_missing_is_the_missing_code(nothing: Any) -> None:
    encoder = fitted(pd.Series(["x", nothing, "x"], dtype=object))
    assert encoder.schema_.fields[0] == Field("a", "category", ("x", "missing"), (2, 1), singletons=1)
    assert codes_of(encoder, [nothing, "x"]) == [1, 0]


def test_missing_is_unseen_where_normal_rows_had_none() -> None:
    for values in (["x", "y"], [1, 2], list(np.arange(50) / 3)):
        encoder = fitted(values)
        assert codes_of(encoder, [None]) == [encoder.schema_.fields[0].size]


def test_missing_has_its_own_code_beside_the_bins() -> None:
    encoder = fitted([*np.arange(40) / 4, np.nan, None], bins=4, tails=0)
    assert encoder.schema_.fields[0].labels[-1] == "missing"
    assert encoder.schema_.fields[0].counts == (10, 10, 10, 10, 2)
    assert codes_of(encoder, [np.nan, 0.0]) == [4, 0]


def test_a_polars_nan_is_missing_too() -> None:
    field = TableEncoder().fit(pl.DataFrame({"a": [1.0, float("nan"), None]})).schema_.fields[0]
    assert field.labels == ("1", "missing")
    assert field.counts == (1, 2)


def test_a_dictionary_entry_that_is_null_is_missing() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["x", None]))
    assert TableEncoder().fit(pa.table({"a": array})).schema_.fields[0].counts == (1, 2)


@pytest.mark.parametrize("nothing", ["", "  ", "NA", " n/a ", "NULL", "<NA>", "#N/A"])
def test_texts_that_mean_missing_are_missing_in_tables_of_every_library(nothing: str) -> None:
    for frame in (pd.DataFrame({"a": [nothing, "x"]}), pl.DataFrame({"a": [nothing, "x"]}), [[nothing], ["x"]]):
        encoder = TableEncoder().fit(frame)
        assert encoder.schema_.fields[0].labels == ("x", "missing")
        assert encoder.encode([[nothing], [None], ["x"]]).values.tolist() == [[1], [1], [0]]


def test_words_that_are_values_as_often_as_not_stay_values() -> None:
    assert field_of(["none", "na", "-", "unknown"]).labels == ("-", "na", "none", "unknown")


def test_a_declared_category_is_a_value_whatever_it_is_called() -> None:
    field = TableEncoder().fit(pd.DataFrame({"a": pd.Categorical(["NA", "1", None])})).schema_.fields[0]
    assert (field.labels, field.counts) == (("1", "NA", "missing"), (1, 1, 1))


def test_further_texts_and_numbers_are_missing_by_request() -> None:
    for values in (["?", "1", "-999"], [None, 1, -999], [None, 1.0, -999.0]):
        encoder = fitted(values, missing=["?", "-999"])
        assert encoder.schema_.fields[0].labels == ("1", "missing")
        assert codes_of(encoder, values) == [1, 0, 1]
    with pytest.raises(SettingError, match="missing must be a list of texts"):
        fitted(["x"], missing="?")


def test_a_value_called_missing_rare_or_unseen_is_not_mistaken_for_it() -> None:
    field = field_of(["missing", "rare", "unseen", None])
    assert field.labels == ("'missing'", "'rare'", "'unseen'", "missing")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [[1, 2], [3]]}),
        pd.DataFrame({"a": ["x", (1, 2)]}),
        pd.DataFrame({"a": [{"k": 1}, None]}),
        pl.DataFrame({"a": [[1, 2], [3]]}),
        pl.DataFrame({"a": [{"k": 1}]}),
        pa.table({"a": [[1], None]}),
    ],
    ids=["lists", "tuple", "dict", "polars-list", "polars-struct", "arrow-list"],
)
def test_nested_values_are_refused_by_name_with_a_way_out(frame: Any) -> None:
    with pytest.raises(ColumnTypeError, match=r"'a' holds nested.*SequenceDetector.*drop"):
        TableEncoder().fit(frame)
    assert TableEncoder({"a": "drop"}).fit(pd.DataFrame({"a": [[1]], "b": [1]})).schema_.names == ["b"]


def test_complex_numbers_are_refused_by_name() -> None:
    with pytest.raises(ColumnTypeError, match=r"Complex data not supported.*'x0'"):
        TableEncoder().fit(np.array([[1j]]))
