"""Bins of numbers, and rare categories folded into one."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnError

from .single_column import codes_of, field_of, fitted


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
    assert codes_of(encoder, [datetime(2023, 1, 1), datetime(2025, 4, 1)]) == [0, 1]


def test_dates_further_out_than_a_year_and_than_the_learned_ones_are_apart_are_unseen() -> None:
    encoder = fitted([datetime(2014, 1, 1) + timedelta(days=30 * n) for n in range(122)], bins=2)
    years = [1900, 2003, 2005, 2032, 2035, 2999]
    assert codes_of(encoder, [datetime(year, 12, 31) for year in years]) == [2, 2, 0, 1, 2, 2]
    open_ended = fitted([datetime(2014, 1, 1) + timedelta(days=n) for n in range(100)], bins=2, tails=0)
    assert codes_of(open_ended, [datetime(1900, 1, 1), datetime(2999, 12, 31)]) == [0, 1]


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


# Folding

PETS = pd.DataFrame({"pet": ["cat"] * 5 + ["dog"] * 4 + ["newt"] * 2 + ["eel", "ape"] + [None]})


def test_categories_beyond_the_limit_are_folded_into_rare() -> None:
    encoder = TableEncoder(max_categories=2).fit(PETS)
    field = encoder.schema_.fields[0]
    assert field.labels == ("cat", "dog", "rare", "missing")
    assert field.counts == (5, 4, 4, 1)
    assert field.singletons == 3  # eel, ape, and missing, before folding
    rows = [["dog"], ["eel"], ["newt"], ["yak"], [None]]
    assert encoder.encode(rows).values[:, 0].tolist() == [1, 2, 2, 4, 3]


def test_ties_for_the_last_category_go_by_name_not_by_row() -> None:
    for rows in (slice(None), slice(None, None, -1)):
        encoder = TableEncoder(max_categories=4).fit(PETS[rows])
        assert encoder.schema_.fields[0].labels == ("ape", "cat", "dog", "newt", "rare", "missing")


def test_as_many_categories_as_the_limit_are_not_folded() -> None:
    assert "rare" not in TableEncoder(max_categories=5).fit(PETS).schema_.fields[0].labels


def test_with_too_many_folded_values_to_remember_every_other_value_is_rare() -> None:
    encoder = TableEncoder(max_categories=2, max_distinct=4).fit(PETS)
    assert encoder.schema_ == TableEncoder(max_categories=2).fit(PETS).schema_
    assert encoder.encode([["eel"], ["yak"], [None]]).values[:, 0].tolist() == [2, 2, 3]


def test_folding_applies_to_numbers_read_as_categories_too() -> None:
    encoder = TableEncoder(max_categories=2).fit(pd.DataFrame({"a": [1, 1, 2, 2, 3]}))
    assert encoder.schema_.fields[0].labels == ("1", "2", "rare")
    assert encoder.encode([[3], [4], ["x"]]).values[:, 0].tolist() == [2, 3, 3]
