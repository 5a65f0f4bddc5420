"""Rows shared among threads."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from maskdiff.reconstructors.loops import in_threads, load_loops, passes_in_threads, runs_in_threads, runs_to_share


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


@pytest.mark.parametrize(
    ("n_rows", "step", "n_threads"), [(0, 5, 2), (3, 5, 2), (300, 7, 1), (300, 7, 3), (300, 999, 2)]
)
def test_pieces_are_all_rows_and_each_is_computed_by_one_thread(n_rows, step, n_threads):
    times, threads, reported, before = np.zeros(n_rows, np.int64), [], [], torch.get_num_threads()

    def answer(run: slice) -> None:
        times[run] += 1
        threads.append(torch.get_num_threads())

    try:
        torch.set_num_threads(n_threads)
        runs_in_threads(answer, runs_to_share(n_rows, step), done=reported.append)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)
    assert (times == 1).all()
    assert reported == sorted(reported)
    assert reported[-1] == n_rows
    if n_rows == 300 and n_threads > 1:
        assert set(threads) == {1}
        assert len(reported) % n_threads == 0


def test_pieces_that_wait_are_not_begun_once_one_failed():
    begun, before = [], torch.get_num_threads()

    def answer(run: slice) -> None:
        begun.append(run.start)
        if run.start == 0:
            raise ZeroDivisionError
        time.sleep(0.01)  # all of them would take five seconds

    try:
        torch.set_num_threads(2)
        with pytest.raises(ZeroDivisionError):
            runs_in_threads(answer, runs_to_share(10_000, 10))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert len(begun) < 1000


@pytest.mark.parametrize(("n_rows", "longest"), [(1, 1), (100_000, 100_000 // 30 + 1)])
def test_passes_over_many_numbers_are_made_in_short_runs(n_rows, longest):
    answered, lengths = np.zeros(n_rows, int), []

    def answer(run: slice) -> None:
        answered[run] += 1
        lengths.append(run.stop - run.start)

    passes_in_threads(answer, (n_rows, 20))
    assert (answered == 1).all()
    assert max(lengths) <= longest
