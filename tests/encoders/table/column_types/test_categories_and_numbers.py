"""Categories and numbers, in every type they may arrive in."""

from __future__ import annotations

import uuid
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.codes import Field
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnTypeError

from ..single_column import codes_of, field_of, fitted


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype=object),
        pd.Series(["b", "a", "b"], dtype="string"),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["z", "b", "a"])),
        pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(pa.large_string())),
        pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
        pd.Series([b"b", b"a", b"b"]),
    ],
    ids=lambda values: str(values.dtype),
)
def test_text_of_every_type_becomes_categories_in_order(values: pd.Series) -> None:
    assert field_of(values) == Field("a", "category", ("a", "b"), (1, 2), singletons=1)


def test_booleans_are_false_and_true() -> None:
    encoder = fitted([True, False, True])
    assert encoder.schema_.fields[0] == Field("a", "category", ("False", "True"), (1, 2), singletons=1)
    assert codes_of(encoder, [False, True, 0, 1.0, "true", "FALSE", "maybe", 2]) == [0, 1, 0, 1, 1, 0, 2, 2]


def test_few_distinct_numbers_are_categories_and_one_is_one_in_every_type() -> None:
    encoder = fitted([2, 1, 1])
    assert encoder.schema_.fields[0] == Field("a", "category", ("1", "2"), (2, 1), singletons=1)
    assert codes_of(encoder, [1, 1.0, "1", "1.0", Decimal("1.00"), np.int8(1), True, 3]) == [0] * 7 + [2]


def test_a_nullable_integer_column_read_as_float_matches() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"a": pd.array([1, 2, None], dtype="Int64")}))
    assert encoder.encode(pd.DataFrame({"a": [2.0, np.nan, 1.0]})).values[:, 0].tolist() == [1, 2, 0]


def test_numbers_are_ordered_as_numbers_not_as_text() -> None:
    assert field_of([10, 9, 100, -1]).labels == ("-1", "9", "10", "100")


def test_mixed_types_are_categories_by_their_text() -> None:
    encoder = fitted([1, "1", 1.0, True, date(2020, 1, 1), Decimal("2.50"), b"x", ""])
    field = encoder.schema_.fields[0]
    assert field.labels == ("1", "2.5", "2020-01-01", "True", "x", "missing")
    assert field.counts == (3, 1, 1, 1, 1, 1)
    assert codes_of(encoder, [1, "True", 2.5, datetime(2020, 1, 1), "x", None]) == [0, 3, 1, 2, 4, 5]


def test_objects_are_known_by_their_text() -> None:
    key = uuid.UUID(int=5)
    assert field_of([key, key]).labels == (str(key),)


def test_objects_without_a_text_are_refused_by_name() -> None:
    with pytest.raises(ColumnTypeError, match=r"'a'.*object"):
        fitted([object(), object()])


def test_decimal_objects_are_numbers() -> None:
    field = field_of([Decimal(n) / 4 for n in range(30)], bins=2, tails=0)
    assert (field.type, field.labels) == ("number", ("[0, 3.5]", "(3.5, 7.25]"))


@pytest.mark.parametrize(
    "arrow_type", [pa.decimal128(30, 2), pa.decimal256(40, 2), pa.float32(), pa.int16(), pa.uint64()]
)
def test_every_arrow_number_is_a_number(arrow_type: pa.DataType) -> None:
    table = pa.table({"a": pa.array(list(range(0, 100, 4)) * 2).cast(arrow_type)})
    assert TableEncoder(bins=2, tails=0).fit(table).schema_.fields[0].labels == ("[0, 48]", "(48, 96]")


def test_integers_beyond_64_bits_are_read_as_floats() -> None:
    encoder = fitted([2**70, 1, 1])
    assert encoder.schema_.fields[0].labels == ("1", "1.18059e+21")
    assert codes_of(encoder, [2**70, float(2**70), str(2**70), 2**71]) == [1, 1, 1, 2]


def test_huge_integers_that_fit_are_kept_apart_exactly() -> None:
    encoder = fitted([2**53 + 1, 2**53, 2**53])
    assert codes_of(encoder, [2**53, 2**53 + 1, 2**53 + 2, str(2**53 + 1)]) == [0, 1, 2, 1]


def test_a_constant_column_has_one_code_and_anything_else_is_unseen() -> None:
    for constant, other in [("x", "y"), (3, 4), (True, False), (date(2020, 1, 1), date(2022, 1, 2))]:
        encoder = fitted([constant] * 30)
        assert encoder.schema_.sizes.tolist() == [1]
        assert codes_of(encoder, [constant, other, None]) == [0, 1, 1]
