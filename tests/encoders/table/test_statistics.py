"""Statistics merge: `a.merge(b)` knows what one pass over the rows of a and then those of b would."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.encoders.table.number_sample import NumberSample
from maskdiff.encoders.table.statistics import ColumnStatistics, TableStatistics
from maskdiff.errors import ColumnTypeError, EmptyTableError, LeftOutWarning, UnknownColumnError

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text("abc", max_size=2),
    "integer": st.integers(-3, 3) | st.integers(2**62, 2**63 - 1),
    "number": st.floats(allow_nan=False) | st.sampled_from([0.5, 1.5]),
    "boolean": st.booleans(),
    "moment": st.datetimes().map(pd.Timestamp),
}
COLUMNS = {
    "text": object,
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "moment": "datetime64[us]",
}


@st.composite
def split_tables(draw: st.DrawFn) -> tuple[pd.DataFrame, list[int]]:
    """A table with missing cells and perhaps a key, and where it is cut."""
    n = draw(st.integers(1, 40))
    columns = {
        name: pd.Series(draw(st.lists(st.none() | cells, min_size=n, max_size=n)), dtype=COLUMNS[name])
        for name, cells in CELLS.items()
    }
    start, step = draw(st.integers(-5, 5)), draw(st.sampled_from([-2, -1, 1, 3, 0]))
    columns["key"] = pd.Series(start + step * np.arange(n)[draw(st.permutations(range(n)))])
    columns["rising"] = pd.Series(start + step * np.arange(n))
    return pd.DataFrame(columns), sorted(draw(st.lists(st.integers(0, n), max_size=4)))


def learned_from(encoder: TableEncoder, *tables: pd.DataFrame, seed: int = 0) -> TableStatistics:
    statistics = encoder.statistics(seed=seed)
    for table in tables:
        statistics.add(read_table(table))
    return statistics


def cut(table: pd.DataFrame, cuts: list[int]) -> list[pd.DataFrame]:
    edges = [0, *cuts, len(table)]
    return [table[start:stop] for start, stop in pairwise(edges)]


def merged(parts: list[TableStatistics]) -> TableStatistics:
    first, *others = parts
    for other in others:
        first.merge(other)
    return first


def outcome(encoder: TableEncoder, statistics: TableStatistics) -> Any:
    """What an encoder makes of statistics: its state, or its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        try:
            return encoder.fit_statistics(statistics).to_state()
        except ValueError as error:
            return type(error), str(error)


@given(split_tables())
def test_merged_statistics_are_those_of_one_pass(split: tuple[pd.DataFrame, list[int]]) -> None:
    table, cuts = split
    encoder = TableEncoder(max_categories=3, bins=3, discrete_up_to=4)
    parts = [learned_from(encoder, part, seed=at) for at, part in enumerate(cut(table, cuts))]
    assert outcome(encoder, merged(parts)) == outcome(encoder, learned_from(encoder, table))


@given(split_tables())
def test_merging_from_the_right_gives_the_same(split: tuple[pd.DataFrame, list[int]]) -> None:
    table, cuts = split
    encoder = TableEncoder(max_categories=3, bins=3, discrete_up_to=4)
    *parts, last = [learned_from(encoder, part) for part in cut(table, cuts)]
    for part in reversed(parts):
        part.merge(last)
        last = part
    assert outcome(encoder, last) == outcome(encoder, learned_from(encoder, table))


def test_a_row_id_is_found_in_any_order_of_merging() -> None:
    halves = [pd.DataFrame({"id": range(0, 30_000, 1000)}), pd.DataFrame({"id": range(30_000, 60_000, 1000)})]
    encoder = TableEncoder()
    for order in ((0, 1), (1, 0)):
        statistics = merged([learned_from(encoder, halves[at]) for at in order])
        assert statistics.columns["id"].left_out() is not None


def test_statistics_of_no_rows_change_nothing_on_either_side() -> None:
    encoder, table = TableEncoder(), pd.DataFrame({"a": ["x", "y", None]})
    full = outcome(encoder, learned_from(encoder, table))
    assert outcome(encoder, merged([encoder.statistics(), learned_from(encoder, table)])) == full
    assert outcome(encoder, merged([learned_from(encoder, table), encoder.statistics()])) == full
    with pytest.raises(EmptyTableError, match="no rows"):
        encoder.fit_statistics(merged([encoder.statistics(), encoder.statistics()]))


def test_a_requested_type_and_dropped_columns_are_merged_too() -> None:
    table = pd.DataFrame({"day": [f"2024-01-{n:02d}" for n in range(1, 31)], "note": ["n"] * 30, "x": [1, 2] * 15})
    encoder = TableEncoder({"day": "date", "note": "drop"}, bins=2)
    parts = [learned_from(encoder, part) for part in cut(table, [7, 7, 20])]
    assert outcome(encoder, merged(parts)) == outcome(encoder, learned_from(encoder, table))


def test_columns_of_different_types_or_names_cannot_be_merged() -> None:
    encoder = TableEncoder()
    texts, numbers, other = (pd.DataFrame(columns) for columns in ({"a": ["x"]}, {"a": [1]}, {"b": [1]}))
    with pytest.raises(ColumnTypeError, match="'a' held category values in one batch and integer"):
        merged([learned_from(encoder, texts), learned_from(encoder, numbers)])
    with pytest.raises(UnknownColumnError, match="'a'; 'b'"):
        merged([learned_from(encoder, numbers), learned_from(encoder, other)])


# More distinct values than are held ----------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.text("abcd", min_size=1, max_size=3), max_size=40), min_size=1, max_size=4), st.integers(2, 20)
)
def test_beyond_the_limit_rows_are_all_counted_and_no_category_too_often(
    parts: list[list[str]], max_distinct: int
) -> None:
    encoder = TableEncoder(max_distinct=max_distinct)
    columns = [learned_from(encoder, pd.DataFrame({"a": pd.Series(part, dtype=str)})) for part in parts]
    learned: ColumnStatistics = merged(columns).columns["a"]
    truth = Counter(text for part in parts for text in part)
    levels = learned.levels or Counter()
    assert len(levels) <= max_distinct
    assert levels.total() + sum(count * n for count, n in learned.forgotten.items()) == truth.total()
    assert all(count <= truth[str(text)] for text, count in levels.items())
    assert len(truth) <= learned.n_categories <= truth.total()
    if not learned.forgotten:
        assert levels == truth


def sample_of(numbers: np.ndarray, limit: int, seed: int) -> NumberSample:
    sample = NumberSample(np.random.default_rng(seed), limit)
    for batch in np.array_split(numbers, 5):
        sample.add(batch)
    return sample


def test_up_to_the_limit_every_number_is_kept() -> None:
    sample = NumberSample(np.random.default_rng(0), limit=50)
    for start in range(0, 50, 10):
        sample.add(np.arange(start, start + 10.0))
        sample.add(np.arange(start, start + 10.0))
    assert (sample.values.tolist(), sample.counts.tolist(), sample.share) == (list(range(50)), [2] * 50, 1.0)


@pytest.mark.parametrize("sizes", [(40_000,), (20_000, 20_000), (39_000, 1000), (1000, 39_000)], ids=str)
def test_beyond_the_limit_rows_are_thinned_evenly(sizes: tuple[int, ...]) -> None:
    numbers = np.concatenate([np.zeros(20_000), np.random.default_rng(1).random(20_000)])
    np.random.default_rng(2).shuffle(numbers)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    sample, *others = [sample_of(part, 500, seed) for seed, part in enumerate(parts)]
    for other in others:
        sample.merge(other)
    kept = sample.counts.sum()
    assert len(sample.values) <= 500
    assert abs(kept - sample.share * 40_000) < 5 * np.sqrt(sample.share * 40_000)
    assert abs(sample.counts[sample.values == 0][0] / kept - 0.5) < 0.1
    assert abs(np.average(sample.values[1:]) - 0.5) < 0.1
