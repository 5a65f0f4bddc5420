"""Where compiled loops come from, and how rows are shared among threads."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch

# Fewer rows are not worth a thread of their own.
_FEWEST_TO_SHARE = 256
# Runs of about so many numbers stay in a processor's cache from one pass over them to the next.
_NUMBERS_AT_ONCE = 1 << 16


@cache
def load_loops(module: str) -> Any:
    """A module of compiled loops, or None where numba is missing. Loaded when needed: numba takes half a second."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def in_threads(answer: Callable[[slice], None], n_rows: int) -> None:
    """Call `answer` for runs of rows that together are all rows, in as many threads as torch may use.

    The threads end with the call, so that none is left to wait beside torch's own.
    """
    n_threads = min(torch.get_num_threads(), n_rows)
    _run(answer, even_runs(n_rows, max(n_threads, 1)), n_threads, None)


def passes_in_threads(answer: Callable[[slice], None], shape: tuple[int, ...]) -> None:
    """Call `answer`, which passes several times over numbers of this shape, for short runs of rows, the first axis.

    To write the results of each pass to memory and to read them again would take longer than to compute them.
    """
    n_rows, width = shape
    n_runs = max(1, min(n_rows, n_rows * width // _NUMBERS_AT_ONCE))
    _run(answer, even_runs(n_rows, n_runs), min(torch.get_num_threads(), n_runs), None)


def runs_in_threads(
    answer: Callable[[slice], None], runs: list[slice], *, done: Callable[[int], None] | None = None
) -> None:
    """Call `answer`, which uses torch, for each run of rows, in threads that compute alone.

    torch's own threads meet after every operation; where operations are short, they wait as long as they work. They
    take runs that are fewer than threads together, one after the other. `done` is told how many rows are answered,
    after each run.
    """
    n_threads = torch.get_num_threads()
    if n_threads <= 1 or len(runs) < n_threads:
        runs_in_order(answer, runs, done=done)
        return
    alone = partial(torch.set_num_threads, 1)
    try:
        _run(answer, runs, n_threads, done, starting=alone)
    finally:  # what the last thread set holds for threads that others start
        torch.set_num_threads(n_threads)


def runs_in_order(
    answer: Callable[[slice], None], runs: list[slice], *, done: Callable[[int], None] | None = None
) -> None:
    """The same, one run after the other."""
    _run(answer, runs, 1, done)


def runs_to_share(n_rows: int, step: int) -> list[slice]:
    """Runs of about `step` rows, as many for each thread where rows are not few."""
    n_threads, n_runs = torch.get_num_threads(), max(-(-n_rows // step), 1)
    if n_threads > 1 and n_rows >= _FEWEST_TO_SHARE:
        n_runs = -(-n_runs // n_threads) * n_threads
    return even_runs(n_rows, n_runs)


def runs_of(n_rows: int, step: int) -> list[slice]:
    """Runs of `step` rows; the last may be shorter.

    >>> runs_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(at, min(at + step, n_rows)) for at in range(0, n_rows, step)]


def even_runs(n_rows: int, n_runs: int) -> list[slice]:
    """Runs of rows of about the same length.

    >>> even_runs(5, 2)
    [slice(0, 2, None), slice(2, 5, None)]
    """
    edges = [n_rows * i // n_runs for i in range(n_runs + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]


def _run(
    answer: Callable[[slice], None],
    runs: list[slice],
    n_threads: int,
    done: Callable[[int], None] | None,
    starting: Callable[[], object] | None = None,
) -> None:
    if n_threads <= 1:
        for run in runs:
            answer(run)
            if done is not None:
                done(run.stop)
        return
    threads = ThreadPoolExecutor(n_threads, initializer=starting)
    try:
        for run, answered in zip(runs, [threads.submit(answer, run) for run in runs], strict=True):
            answered.result()
            if done is not None:
                done(run.stop)
    finally:  # of the runs that wait none is begun if one failed, or the user gave up
        threads.shutdown(cancel_futures=True)
