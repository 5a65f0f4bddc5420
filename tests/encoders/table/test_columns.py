"""How each kind of column is read at fit: categories, bins, missing values, labels."""

from __future__ import annotations

import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from maskdiff.codes import Field
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnError, ColumnTypeError


def fitted(values: Any, **settings: Any) -> TableEncoder:
    return TableEncoder(**settings).fit(pd.DataFrame({"a": values}))


def field_of(values: Any, **settings: Any) -> Field:
    return fitted(values, **settings).schema_.fields[0]


def codes_of(encoder: TableEncoder, values: list[Any]) -> list[int]:
    """The codes of these cells, each in a table of Python objects."""
    return encoder.encode(pd.DataFrame({"a": pd.Series(values, dtype=object)})).values[:, 0].tolist()


# Categories ----------------------------------------------------------------------------------------------------------


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
def test_text_becomes_categories_in_order_whatever_its_type(values: pd.Series) -> None:
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
    assert field.labels == ("''", "1", "2.5", "2020-01-01", "True", "x")
    assert field.counts == (1, 3, 1, 1, 1, 1)
    assert codes_of(encoder, [1, "True", 2.5, datetime(2020, 1, 1), "x", None]) == [1, 4, 2, 3, 5, 6]


def test_objects_are_known_by_their_text() -> None:
    key = uuid.UUID(int=5)
    assert field_of([key, key]).labels == (str(key),)


def test_objects_without_a_text_are_refused_by_name() -> None:
    with pytest.raises(ColumnTypeError, match=r"'a'.*object"):
        fitted([object(), object()])


def test_decimal_objects_are_numbers() -> None:
    field = field_of([Decimal(n) / 4 for n in range(30)], bins=2, tails=0)
    assert (field.type, field.labels) == ("number", ("[0, 3.5]", "(3.5, 7.25]"))


@pytest.mark.parametrize("kind", [pa.decimal128(30, 2), pa.decimal256(40, 2), pa.float32(), pa.int16(), pa.uint64()])
def test_every_arrow_number_is_a_number(kind: pa.DataType) -> None:
    table = pa.table({"a": pa.array(list(range(0, 100, 4)) * 2).cast(kind)})
    assert TableEncoder(bins=2, tails=0).fit(table).schema_.fields[0].labels == ("[0, 48]", "(48, 96]")


def test_integers_beyond_64_bits_are_read_as_floats() -> None:
    encoder = fitted([2**70, 1, 1])
    assert encoder.schema_.fields[0].labels == ("1", "1.18059e+21")
    assert codes_of(encoder, [2**70, float(2**70), str(2**70), 2**71]) == [1, 1, 1, 2]


def test_huge_integers_that_fit_are_kept_apart_exactly() -> None:
    encoder = fitted([2**53 + 1, 2**53, 2**53])
    assert codes_of(encoder, [2**53, 2**53 + 1, 2**53 + 2, str(2**53 + 1)]) == [0, 1, 2, 1]


def test_a_constant_column_has_one_code_and_anything_else_is_unseen() -> None:
    for constant, other in [("x", "y"), (3, 4), (True, False), (date(2020, 1, 1), date(2020, 1, 2))]:
        encoder = fitted([constant] * 30)
        assert encoder.schema_.sizes.tolist() == [1]
        assert codes_of(encoder, [constant, other, None]) == [0, 1, 1]


# Missing -------------------------------------------------------------------------------------------------------------


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


def test_an_empty_text_is_a_category_of_its_own() -> None:
    encoder = fitted(["", "x", None])
    assert encoder.schema_.fields[0].labels == ("''", "x", "missing")
    assert codes_of(encoder, ["", None]) == [0, 2]


def test_a_value_called_missing_rare_or_unseen_is_not_mistaken_for_it() -> None:
    field = field_of(["missing", "rare", "unseen", None])
    assert field.labels == ("'missing'", "'rare'", "'unseen'", "missing")


# Bins ----------------------------------------------------------------------------------------------------------------


def test_more_than_twenty_distinct_numbers_are_cut_into_ten_quantile_bins() -> None:
    assert field_of([n % 20 / 2 for n in range(210)]).type == "category"
    field = field_of([n % 21 / 2 for n in range(210)], tails=0)
    assert (field.type, field.size) == ("number", 10)
    assert min(field.counts) >= 20


def test_bins_without_tails_are_closed_on_the_right_and_open_ended() -> None:
    encoder = fitted([n / 4 for n in range(40)], bins=4, tails=0)
    assert encoder.schema_.fields[0].labels == ("[0, 2.25]", "(2.25, 4.75]", "(4.75, 7.25]", "(7.25, 9.75]")
    assert codes_of(encoder, [2.25, 2.26, 4.75, -1e300, 1e300]) == [0, 1, 1, 0, 3]


def test_bins_know_how_many_rows_they_hold() -> None:
    numbers = np.random.default_rng(0).lognormal(size=500)
    for tails, held in {0: (50,) * 10, 2: (1, 12, 12, 25, *(50,) * 8, 25, 12, 12, 1)}.items():
        encoder = fitted(numbers, tails=tails)
        codes = encoder.encode(pd.DataFrame({"a": numbers})).values[:, 0]
        assert tuple(np.bincount(codes)) == encoder.schema_.fields[0].counts == held
        assert encoder.schema_.fields[0].singletons == (2 if tails else 0)


def test_the_end_bins_are_cut_in_half_while_five_rows_are_left_and_the_extremes_stand_alone() -> None:
    assert field_of(np.arange(100) / 2, bins=4, tails=9).counts == (1, 6, 6, 12, 25, 25, 12, 6, 6, 1)
    labels = field_of(np.arange(100.0), bins=2, tails=1).labels
    assert labels == ("0", "(0, 24]", "(24, 49]", "(49, 74]", "(74, 98]", "(98, 99]")


def test_a_number_beyond_the_range_is_unseen() -> None:
    encoder = fitted(np.arange(100.0), bins=2, tails=1)
    assert codes_of(encoder, [0, 99, -0.001, 99.001, 1e300, -1e300]) == [0, 5, 6, 6, 6, 6]
    assert encoder.schema_.fields[0].unseen_mass == 2 / 100


def test_an_end_that_many_rows_reach_is_a_bin_and_new_numbers_beyond_it_are_unlikely() -> None:
    field = field_of([0] * 50 + list(range(1, 51)), bins=2, tails=2)
    assert (field.labels[0], field.counts[0], field.singletons) == ("0", 50, 1)
    assert field_of([0] * 50 + list(range(1, 51)) + [50], bins=2, tails=2).singletons == 0


def test_dates_go_on() -> None:
    encoder = fitted([datetime(2024, 1, 1) + timedelta(days=n) for n in range(100)], bins=2, tails=5)
    assert encoder.schema_.fields[0].counts == (50, 50)
    assert codes_of(encoder, [datetime(2023, 1, 1), datetime(2030, 1, 1)]) == [0, 1]


@pytest.mark.parametrize("heavy", [0.0, 50.0, 1000.0], ids=["smallest", "middle", "largest"])
def test_a_value_that_holds_most_rows_makes_fewer_bins_none_empty(heavy: float) -> None:
    numbers = [heavy] * 400 + [float(n) for n in range(1, 41)]
    encoder = fitted(numbers)
    field = encoder.schema_.fields[0]
    assert 2 <= field.size < 10
    assert min(field.counts) > 0
    assert codes_of(encoder, [heavy]) != codes_of(encoder, [20.0])


def test_integer_columns_show_integer_bounds() -> None:
    field = field_of([n * n for n in range(40) for _ in range(2)], bins=3, tails=0)
    assert field.labels == ("[0, 169]", "(169, 676]", "(676, 1521]")


def test_labels_have_few_digits_but_enough_to_differ() -> None:
    assert field_of(1 + np.arange(40) / 3, bins=2, tails=0).labels == ("[1, 7.333]", "(7.333, 14]")
    assert len(set(field_of(1 + np.arange(40) / 1e9, tails=0).labels)) == 10
    assert field_of([0.1 + 0.2, 0.5]).labels == ("0.3", "0.5")
    assert len(set(field_of([0.1 + 0.2, 0.3]).labels)) == 2


def test_infinite_values_at_fit_are_an_error_that_names_the_column_and_counts_them() -> None:
    with pytest.raises(ColumnError, match=r"'a' holds 2 infinite values.*missing"):
        fitted([1.0, np.inf, -np.inf])
    with pytest.raises(ColumnError, match="'a' holds 1 infinite value"):
        fitted([1, 10**400])


def test_infinity_is_a_category_when_the_user_says_so() -> None:
    assert field_of([1.0, np.inf], columns={"a": "category"}).labels == ("1", "inf")


# Dates ---------------------------------------------------------------------------------------------------------------

DAYS = [datetime(2024, 1, 1) + timedelta(days=n) for n in range(40)]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.Series(DAYS).astype("datetime64[ns]")}),
        pd.DataFrame({"a": pd.Series(DAYS).astype("datetime64[s]")}),
        pd.DataFrame({"a": pd.Series(DAYS).dt.tz_localize("UTC")}),
        pd.DataFrame({"a": pd.Series([day.date() for day in DAYS], dtype=object)}),
        pd.DataFrame({"a": pd.Series(DAYS, dtype=object)}),
        pl.DataFrame({"a": [day.date() for day in DAYS]}),
        pl.DataFrame({"a": DAYS}),
        pa.table({"a": pa.array(DAYS, pa.date64())}),
        np.array(DAYS, dtype="datetime64[D]").reshape(-1, 1),
    ],
    ids=["ns", "s", "utc", "dates", "objects", "polars-dates", "polars", "arrow", "numpy"],
)
def test_dates_of_every_type_are_cut_into_intervals_of_dates(frame: Any) -> None:
    field = TableEncoder(bins=2).fit(frame).schema_.fields[0]
    assert (field.type, field.counts) == ("date", (20, 20))
    assert field.labels == ("[2024-01-01, 2024-01-20]", "(2024-01-20, 2024-02-09]")


def test_moments_within_a_day_show_their_time() -> None:
    field = field_of([datetime(2024, 1, 1) + timedelta(minutes=n) for n in range(40)], bins=2)
    assert field.labels == ("[2024-01-01T00:00, 2024-01-01T00:19]", "(2024-01-01T00:19, 2024-01-01T00:39]")


def test_few_distinct_dates_are_categories() -> None:
    assert field_of([date(2024, 1, 1), datetime(2024, 1, 2, 5)] * 3).labels == ("2024-01-01", "2024-01-02T05:00:00")


def test_times_of_day_and_durations_are_cut_into_intervals_of_their_own() -> None:
    clock = pl.DataFrame({"a": [time(n // 2, n % 2 * 30) for n in range(48)]})
    assert TableEncoder(bins=2).fit(clock).schema_.fields[0].labels == ("[00:00, 11:30]", "(11:30, 23:30]")
    lengths = pd.DataFrame({"a": pd.to_timedelta(range(30), unit="h")})
    assert TableEncoder(bins=2).fit(lengths).schema_.fields[0].labels == (
        "[0:00:00, 14:00:00]",
        "(14:00:00, 1 day, 5:00:00]",
    )


def test_dates_outside_the_years_of_python_do_no_harm() -> None:
    far = pa.array([-(2**62), 0, 2**62], pa.timestamp("s"))
    assert TableEncoder().fit(pa.table({"a": far})).schema_.sizes.tolist() == [3]


# Nested, complex -----------------------------------------------------------------------------------------------------


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
