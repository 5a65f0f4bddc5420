"""Promises of folds: about equal in size, and rows that belong together are in one of them."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.detectors.finding.folds import check_groups, cut_blocks, cut_folds, spread_frequent
from maskdiff.errors import InputError


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_are_of_equal_size_and_keep_keys_together(n_folds):
    keys = np.random.default_rng(1).integers(0, 300, 1000).astype(np.uint64)
    fold = cut_folds(keys, n_folds, seed=0)
    assert all(len(np.unique(fold[keys == key])) == 1 for key in np.unique(keys))
    assert np.ptp(np.bincount(fold, minlength=n_folds)) <= 10


def test_folds_are_random_and_repeatable():
    keys = np.arange(100, dtype=np.uint64)
    assert (cut_folds(keys, 5, seed=3) == cut_folds(keys, 5, seed=3)).all()
    assert (cut_folds(keys, 5, seed=3) != cut_folds(keys, 5, seed=4)).any()
    assert len(np.unique(cut_folds(keys, 5, seed=3)[:10])) > 1


def test_copies_of_a_usual_row_are_spread_over_all_folds():
    keys = np.array([7] * 500 + [8] * 3, np.uint64)
    fold = cut_folds(spread_frequent(keys), 5, seed=0)
    assert set(fold[:500].tolist()) == {0, 1, 2, 3, 4}
    assert len(set(fold[500:].tolist())) == 1


def test_blocks_follow_each_other_in_time_and_keep_groups_together():
    rank = np.random.default_rng(2).permutation(90)
    fold = cut_blocks(rank, 3)
    assert (np.diff(fold[np.argsort(rank)]) >= 0).all()
    assert np.bincount(fold).tolist() == [30, 30, 30]
    group = (rank // 20).astype(np.uint64)
    grouped = cut_blocks(rank, 3, group)
    assert all(len(np.unique(grouped[group == key])) == 1 for key in np.unique(group))


def test_one_group_is_refused_and_few_groups_make_few_folds():
    assert check_groups(np.array([1, 2, 2], np.uint64), 5) == 2
    with pytest.raises(InputError, match="all rows are of one group"):
        check_groups(np.zeros(9, np.uint64), 5)
