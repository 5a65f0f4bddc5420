"""Promises of the split: every row has one purpose, and there are enough of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.detectors.split import fold_splits, split_rows
from maskdiff.errors import InputError

from ..handmade import codes_of


@given(st.integers(3, 30_000), st.integers(0, 5), st.booleans())
def test_every_row_has_one_purpose(n, seed, tunes):
    split = split_rows(n, seed, tunes=tunes)
    assert np.sort(split.order).tolist() == list(range(n))
    assert bool(len(split.tuning)) == tunes
    assert len(split.train) >= n / 3
    assert len(split.calibration) == min(max(n // 10, 100), 2000, max(1, n // 3))


@given(st.integers(3, 5000), st.booleans())
def test_left_out_one_at_a_time_rows_calibrate_that_were_learned_from(n, tunes):
    split = split_rows(n, 0, tunes=tunes, leave_one_out=True)
    assert np.isin(split.calibration, split.train).all()
    assert not np.isin(split.tuning, split.train).any()
    assert np.sort(split.order).tolist() == list(range(n))


@pytest.mark.parametrize("leave_one_out", [False, True])
def test_codes_are_cut_into_the_rows_of_each_purpose(leave_one_out):
    split = split_rows(600, 3, tunes=True, leave_one_out=leave_one_out)
    codes = codes_of(split.order[:, None])
    train, tuning, calibration = split.cut(codes)
    assert train.values[:, 0].tolist() == split.train.tolist()
    assert tuning.values[:, 0].tolist() == split.tuning.tolist()
    assert calibration.values[:, 0].tolist() == split.calibration.tolist()


@pytest.mark.parametrize(("n", "tunes"), [(1, False), (1, True), (2, True)])
def test_too_few_rows_are_refused(n, tunes):
    with pytest.raises(InputError, match="at least"):
        split_rows(n, 0, tunes=tunes)


@given(st.integers(20, 2000), st.integers(0, 5))
def test_every_row_is_in_one_fold_and_never_learned_from_there(n, seed):
    splits = fold_splits(n, seed)
    assert np.sort(np.concatenate([split.calibration for split in splits])).tolist() == list(range(n))
    for split in splits:
        assert np.sort(split.order).tolist() == list(range(n))
        assert len(split.train) >= 0.75 * n
