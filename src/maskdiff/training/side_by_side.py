"""Several trainings at a time. Networks of tables are too small for threads to share a step, but not a training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from threading import Event, Lock
from typing import TypeVar

import torch

from maskdiff.progress import Callback, Progress

Learned = TypeVar("Learned")

# Set once nobody waits any more for what is trained in this context.
_GIVEN_UP: ContextVar[Event | None] = ContextVar("given_up", default=None)


class TrainingGivenUp(Exception):
    """Ends a training that goes on beside one that failed, or was interrupted; nobody sees it."""


def check_wanted() -> None:
    """End this training if nobody waits for it any more."""
    given_up = _GIVEN_UP.get()
    if given_up is not None and given_up.is_set():
        raise TrainingGivenUp


def side_by_side(
    learn: Callable[[int, Callback | None], Learned], reports: Sequence[Callback | None], *, threads: bool
) -> list[Learned]:
    """What `learn(number, report)` returns for each number, as many at a time as torch may use threads.

    Without `threads` one after the other. Progress is reported of one at a time, the first that is not done. If one
    fails, or this thread is interrupted, trainings that call `check_wanted` end soon.

    >>> side_by_side(lambda number, report: number**2, [None] * 4, threads=True)
    [0, 1, 4, 9]
    """
    n_threads = min(torch.get_num_threads(), len(reports)) if threads else 1
    if n_threads <= 1:
        return [learn(number, report) for number, report in enumerate(reports)]
    before, turns, given_up = torch.get_num_threads(), _InTurn(reports), Event()
    pool = ThreadPoolExecutor(n_threads, initializer=partial(torch.set_num_threads, 1))

    def begin(number: int) -> Learned:
        _GIVEN_UP.set(given_up)
        return learn(number, turns.report(number))

    try:
        # Each in a copy of this context, which records the files that are written.
        running = [pool.submit(copy_context().run, begin, number) for number in range(len(reports))]
        return [turns.ended(one.result()) for one in running]
    except BaseException:
        given_up.set()
        raise
    finally:  # what the last thread set holds for threads that others start
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(before)


class _InTurn:
    """Passes on the progress of one training at a time; the last of the others is kept until it is their turn."""

    def __init__(self, reports: Sequence[Callback | None]) -> None:
        self.reports, self.turn, self.lock = reports, 0, Lock()
        self.kept: dict[int, Progress] = {}

    def report(self, number: int) -> Callback | None:
        """What to call with the progress of a training; None where nobody listens."""
        wanted = self.reports[number]
        if wanted is None:
            return None

        def pass_on(progress: Progress) -> None:
            with self.lock:
                if number == self.turn:
                    wanted(progress)
                else:
                    self.kept[number] = progress

        return pass_on

    def ended(self, learned: Learned) -> Learned:
        """It is the next one's turn."""
        with self.lock:
            self.turn += 1
            progress = self.kept.pop(self.turn, None)
            wanted = self.reports[self.turn] if self.turn < len(self.reports) else None
            if progress is not None and wanted is not None:
                wanted(progress)
        return learned
