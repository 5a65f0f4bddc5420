"""Promises of numbers far outside: found at both ends, rare where columns are clean, and the same in batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.encoders.table.outlying import OutlyingNumbers


def p_values(frame, parts=1):
    statistics = TableEncoder().statistics()
    cuts = np.linspace(0, len(frame), parts + 1).astype(int)
    tables = [read_table(frame[low:high]) for low, high in pairwise(cuts)]
    for table in tables:
        statistics.add(table)
    outlying = OutlyingNumbers.of(statistics)
    return np.concatenate([outlying.p_values(table, statistics) for table in tables]), outlying


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.normal(size=3000), "b": rng.lognormal(7, 1, 3000), "c": rng.exponential(size=3000)})


def test_of_clean_columns_no_number_is_far_outside(clean):
    p_value, outlying = p_values(clean)
    assert set(outlying.ends) == {"a", "b", "c"}
    assert outlying.n_ends == 8  # b and c are positive: below 0 is another end
    assert p_value.min() > 0.1 / 3000


@pytest.mark.parametrize("share", [0.001, 0.04])
def test_impossible_numbers_are_found_at_both_ends_even_where_there_are_many(clean, share):
    dirty, n = clean.copy(), int(share * len(clean))
    dirty.loc[: n - 1, "a"] = -200 - np.arange(n)
    dirty.loc[n : 2 * n - 1, "b"] = 5e6 + np.arange(n)
    p_value, _ = p_values(dirty)
    assert (p_value[: 2 * n] < 0.1 / 3000).all()
    assert (p_value[2 * n :] > 0.1 / 3000).all()


def test_numbers_of_another_sign_than_all_others_are_found_where_they_are_few(clean):
    dirty = clean.copy()
    dirty.loc[:4, "c"] = -1.0
    p_value, _ = p_values(dirty)
    assert (p_value[:5] < 0.1 * 5 / 3000).all()
    small = clean.copy()
    small.loc[:4, "c"] = -1e-3
    assert (p_values(small)[0][:5] > 0.005).all()


def test_no_number_is_impossible(clean):
    far, _ = p_values(clean.assign(b=clean["b"].mask(clean.index == 0, -1e12)))
    assert 0 < far[0] < 1e-9


def test_missing_cells_few_values_and_other_columns_do_not_count(clean):
    frame = clean[["a"]].assign(grade=np.arange(3000) % 3, text="x")
    frame.loc[:9, "a"] = np.nan
    p_value, outlying = p_values(frame)
    assert list(outlying.ends) == ["a"]
    assert (p_value[:10] == 1).all()


def test_batches_do_not_matter(clean):
    np.testing.assert_allclose(p_values(clean, parts=4)[0], p_values(clean)[0])
