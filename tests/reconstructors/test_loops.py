"""Rows shared among threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.reconstructors.loops import in_threads, load_loops


@pytest.mark.parametrize(("n_rows", "n_threads"), [(0, 2), (1, 2), (7, 1), (7, 3)])
def test_every_row_is_answered_once(n_rows, n_threads):
    times, before = np.zeros(n_rows, np.int64), torch.get_num_threads()

    def answer(run: slice) -> None:
        times[run] += 1

    try:
        torch.set_num_threads(n_threads)
        in_threads(answer, n_rows)
    finally:
        torch.set_num_threads(before)
    assert (times == 1).all()


def test_an_error_in_a_thread_is_raised():
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda _: 1 / 0, 5)


def test_where_a_library_is_missing_there_are_no_loops():
    assert load_loops("maskdiff.no_such_module") is None
