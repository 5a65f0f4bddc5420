"""Learning from batches: each row is seen once, and how the rows are cut is no matter."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table import statistics
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.statistics import KeyWatch, NumberSample
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
def test_how_rows_are_cut_into_batches_is_no_matter(cuts: list[int]) -> None:
    whole = TableEncoder(max_categories=2).fit(FRAME)
    cut = TableEncoder(max_categories=2).fit_batches(parts(FRAME, cuts))
    assert cut.to_state() == whole.to_state()


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
    [[f"r{n}" for n in range(30)] * 2, [*range(30)] * 2, [*range(0, 30000, 1000), *range(-30000, 0, 1000)]],
    ids=["text", "dense", "rising-twice"],
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


def test_a_column_that_changes_its_kind_between_batches_is_an_error_with_a_way_out() -> None:
    batches = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": ["x", "2"]})]
    with pytest.raises(ColumnTypeError, match=r"'a' held integer values in one batch and text.*category"):
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


# Beyond the limit ----------------------------------------------------------------------------------------------------


def test_up_to_the_limit_every_number_is_kept() -> None:
    sample = NumberSample(np.random.default_rng(0), limit=50)
    for start in range(0, 50, 10):
        sample.add(np.arange(start, start + 10.0))
        sample.add(np.arange(start, start + 10.0))
    assert (sample.values.tolist(), sample.counts.tolist(), sample.share) == (list(range(50)), [2] * 50, 1.0)


def test_beyond_the_limit_rows_are_thinned_evenly() -> None:
    sample = NumberSample(np.random.default_rng(0), limit=500)
    numbers = np.concatenate([np.zeros(20_000), np.random.default_rng(1).random(20_000)])
    np.random.default_rng(2).shuffle(numbers)
    for batch in np.split(numbers, 20):
        sample.add(batch)
    kept = sample.counts.sum()
    assert len(sample.values) <= 500
    assert abs(kept - sample.share * 40_000) < 5 * np.sqrt(sample.share * 40_000)
    assert abs(sample.counts[sample.values == 0][0] / kept - 0.5) < 0.1
    assert abs(np.average(sample.values[1:]) - 0.5) < 0.1


def test_a_thinned_column_has_nearly_the_same_bins_and_row_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics.NumberSample, "__init__", _limited(2000))
    numbers = np.random.default_rng(0).random(20_000)
    batches = [pd.DataFrame({"a": part}) for part in np.split(numbers, 4)]
    encoder = TableEncoder(tails=0).fit_batches(batches, seed=3)
    codes = encoder.encode(pd.DataFrame({"a": numbers})).values[:, 0]
    assert np.abs(np.bincount(codes) - 2000).max() < 400
    assert abs(sum(encoder.schema_.fields[0].counts) - 20_000) < 1500
    assert encoder.schema_ == TableEncoder(tails=0).fit_batches(batches, seed=3).schema_
    assert encoder.schema_ != TableEncoder().fit_batches(batches, seed=4).schema_


def _limited(limit: int) -> Any:
    made = NumberSample.__init__

    def make(self: NumberSample, generator: np.random.Generator) -> None:
        made(self, generator, limit=limit)

    return make


@pytest.fixture
def ten_texts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No more than ten texts are held from batch to batch; how many there are after each."""
    monkeypatch.setattr(statistics, "DISTINCT_LIMIT", 10)
    held: list[int] = []
    add = statistics.ColumnStatistics.add

    def counted(self: statistics.ColumnStatistics, column: Any) -> None:
        add(self, column)
        held.append(len(self.levels or ()))

    monkeypatch.setattr(statistics.ColumnStatistics, "add", counted)
    return held


def test_texts_that_are_all_different_are_not_all_held(ten_texts: list[int]) -> None:
    batches = [pd.DataFrame({"id": [f"r{n}" for n in range(at, at + 8)]}) for at in range(0, 400, 8)]
    with pytest.raises(EmptyTableError, match="'id' \\(a row id: all its values are different\\)"):
        TableEncoder().fit_batches(batches)
    assert len(ten_texts) == 50
    assert max(ten_texts) <= 10


def test_beyond_the_limit_frequent_texts_are_counted_exactly_and_the_others_are_rare(ten_texts: list[int]) -> None:
    batches = [pd.DataFrame({"a": ["x", "y", "x", *(f"r{n}" for n in range(at, at + 8))]}) for at in range(0, 400, 8)]
    encoder = TableEncoder(max_categories=2).fit_batches(batches)
    field = encoder.schema_.fields[0]
    assert (field.labels, field.counts, field.singletons) == (("x", "y", "rare"), (100, 50, 400), 400)
    assert encoder.encode([["y"], ["r3"], ["never"]]).values[:, 0].tolist() == [1, 2, 2]
    assert max(ten_texts) <= 10
    assert TableEncoder.from_state(encoder.to_state()).schema_ == encoder.schema_


def test_a_key_is_still_told_from_repeated_numbers_beyond_the_limit() -> None:
    for step, is_key in ((1, True), (0, False)):
        watch = KeyWatch(limit=30)
        for start in range(4):
            watch.add(np.random.default_rng(0).permutation(25) + start * 25 * step)
        assert watch.is_key is is_key
