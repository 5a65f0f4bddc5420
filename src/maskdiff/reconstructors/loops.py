"""Where compiled loops come from, and how rows are shared among threads."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import torch


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
    edges = [n_rows * i // max(n_threads, 1) for i in range(n_threads + 1)]
    runs = [slice(first, last) for first, last in pairwise(edges)]
    if n_threads <= 1:
        for run in runs:
            answer(run)
        return
    with ThreadPoolExecutor(n_threads) as threads:
        for done in [threads.submit(answer, run) for run in runs]:
            done.result()
