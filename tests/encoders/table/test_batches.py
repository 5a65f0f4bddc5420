"""Learning from batches: each row is seen once, and how the rows are cut into batches does not matter."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.codes import Schema
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.errors import ColumnError, ColumnTypeError, EmptyTableError, LeftOutWarning, UnknownColumnError

N = 60
SHUFFLED = np.random.default_rng(0).permutation(N)
FRAME = pd.DataFrame(
    {
        "word": ["a", "b", None, "c", "a"] * 12,
        "few": [1, 2, 1, 1, 3] * 12,
        "many": np.random.default_rng(1).normal(size=N).round(1),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(SHUFFLED // 2, unit="D"),
        "yes": [True, None, False] * 20,
    }
)


def parts(frame: pd.DataFrame, cuts: list[int]) -> list[pd.DataFrame]:
    edges = [0, *sorted(cuts), len(frame)]
    return [frame[start:stop] for start, stop in pairwise(edges)]


@given(st.lists(st.integers(0, N), max_size=5))
def test_how_rows_are_cut_into_batches_does_not_matter(cuts: list[int]) -> None:
    cut = TableEncoder(max_categories=2).fit_batches(parts(FRAME, cuts))
    assert cut.to_state() == state_of_whole()


@cache
def state_of_whole() -> Any:
    return TableEncoder(max_categories=2).fit(FRAME).to_state()


def test_batches_are_seen_once_and_may_be_of_any_form_and_column_order() -> None:
    forms = [lambda f: f, pl.from_pandas, lambda f: f[f.columns[::-1]], lambda f: f.astype(object)]
    batches = (form(part) for form, part in zip(forms, parts(FRAME, [15, 30, 45]), strict=True))
    assert TableEncoder().fit_batches(batches).schema_ == TableEncoder().fit(FRAME).schema_


@pytest.mark.parametrize(
    "ids",
    [[f"r{n}" for n in range(N)], list(range(N)), list(range(0, -N * 1000, -1000)), SHUFFLED * 3 + 2**60],
    ids=["text", "rising", "falling", "dense"],
)
@pytest.mark.parametrize("cuts", [[], [10], [1, 2, 59]], ids=str)
def test_a_row_id_is_found_across_batches(ids: Any, cuts: list[int]) -> None:
    with pytest.warns(LeftOutWarning):
        encoder = TableEncoder().fit_batches(parts(FRAME.assign(id=ids), cuts))
    assert list(encoder.left_out_) == ["id"]


@pytest.mark.parametrize(
    "values",
    [[f"r{n}" for n in range(30)] * 2, [*range(30)] * 2],
    ids=["text", "dense"],
)
def test_what_is_a_row_id_only_within_each_batch_is_kept(values: Any) -> None:
    encoder = TableEncoder().fit_batches(parts(FRAME.assign(id=values), [30]))
    assert encoder.left_out_ == {}


def test_batches_without_a_value_say_nothing_about_the_type() -> None:
    batches = [pd.DataFrame({"a": [np.nan, np.nan]}), pd.DataFrame({"a": ["x", "y"]}), pd.DataFrame({"a": [None]})]
    field = TableEncoder().fit_batches(batches).schema_.fields[0]
    assert (field.labels, field.counts) == (("x", "y", "missing"), (1, 1, 3))


def test_integers_and_floats_may_take_turns() -> None:
    batches = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1.0, 2.5]}), pd.DataFrame({"a": [2]})]
    assert TableEncoder().fit_batches(batches).schema_.fields[0].counts == (2, 2, 1)


def test_a_column_that_changes_its_type_between_batches_is_an_error_with_a_way_out() -> None:
    batches = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["x", "2"]})]
    with pytest.raises(ColumnTypeError, match=r"'a' held integer values in one batch and category values.*columns="):
        TableEncoder().fit_batches(batches)
    field = TableEncoder({"a": "category"}).fit_batches(batches).schema_.fields[0]
    assert (field.labels, field.counts) == (("1", "2", "x"), (1, 2, 1))


def test_a_batch_with_other_columns_is_an_error() -> None:
    with pytest.raises(UnknownColumnError, match=r"Missing: 'word'.*Not seen during fit: 'extra'"):
        TableEncoder().fit_batches([FRAME, FRAME.drop(columns="word").assign(extra=1)])


def test_no_batches_or_only_empty_ones_are_an_error() -> None:
    for batches in ([], [FRAME[:0], FRAME[:0]]):
        with pytest.raises(EmptyTableError, match="no rows"):
            TableEncoder().fit_batches(batches)


def test_infinite_values_are_counted_over_all_batches() -> None:
    with pytest.raises(ColumnError, match="'a' holds 3 infinite values"):
        TableEncoder().fit_batches(pd.DataFrame({"a": cells}) for cells in ([np.inf, 1.0], [2.0, -np.inf, np.inf]))


def test_infinite_integers_in_a_later_batch_are_counted_though_the_first_looks_like_a_key() -> None:
    batches = [pd.DataFrame({"a": pd.Series(cells, dtype=object)}) for cells in (list(range(N)), [10**400, 7])]
    with pytest.raises(ColumnError, match="'a' holds 1 infinite value"):
        TableEncoder().fit_batches(batches)


# More distinct values than are held ----------------------------------------------------------------------------------


def test_a_thinned_column_has_nearly_the_same_bins_and_row_counts() -> None:
    numbers = np.random.default_rng(0).random(20_000)
    batches = [pd.DataFrame({"a": part}) for part in np.split(numbers, 4)]
    encoder = TableEncoder(tails=0, max_distinct=2000).fit_batches(batches)
    codes = encoder.encode(pd.DataFrame({"a": numbers})).values[:, 0]
    assert np.abs(np.bincount(codes) - 2000).max() < 400
    assert abs(sum(encoder.schema_.fields[0].counts) - 20_000) < 1500


def test_the_seed_alone_draws_the_rows_of_a_thinned_column() -> None:
    numbers = np.random.default_rng(0).random(20_000)
    batches = [pd.DataFrame({"a": part}) for part in np.split(numbers, 4)]

    def schema(seed: int, max_distinct: int) -> Schema:
        return TableEncoder(max_distinct=max_distinct).fit_batches(batches, seed=seed).schema_

    assert schema(3, 2000) == schema(3, 2000)
    assert schema(3, 2000) != schema(4, 2000)
    assert schema(3, 20_000) == schema(4, 20_000)


def test_texts_that_are_all_different_are_not_all_held() -> None:
    statistics = TableEncoder(max_distinct=10).statistics()
    for at in range(0, 400, 8):
        statistics.add(read_table(pd.DataFrame({"id": [f"r{n}" for n in range(at, at + 8)]})))
        assert len(statistics.columns["id"].levels or ()) <= 10
    with pytest.raises(EmptyTableError, match="'id' \\(a row id: all its values are different\\)"):
        TableEncoder().fit_statistics(statistics)


def test_frequent_texts_are_counted_exactly_and_the_others_are_rare() -> None:
    batches = [pd.DataFrame({"a": ["x", "y", "x", *(f"r{n}" for n in range(at, at + 8))]}) for at in range(0, 400, 8)]
    encoder = TableEncoder({"a": "category"}, max_categories=2, max_distinct=10).fit_batches(batches)
    field = encoder.schema_.fields[0]
    assert (field.labels, field.counts, field.singletons) == (("x", "y", "rare"), (100, 50, 400), 400)
    assert encoder.encode([["y"], ["r3"], ["never"]]).values[:, 0].tolist() == [1, 2, 2]
    assert TableEncoder.from_state(encoder.to_state()).schema_ == encoder.schema_
