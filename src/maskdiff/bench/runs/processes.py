"""Calls in several processes at a time. Imports little: every process that starts imports this module first."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures.process import BrokenProcessPool
from queue import SimpleQueue
from typing import TypeVar

from maskdiff import threads

Given = TypeVar("Given")
Result = TypeVar("Result")


def in_processes(
    given: Sequence[Given],
    execute: Callable[[Given], Result],
    jobs: int,
    died: Callable[[Given], Result],
    *,
    limit: float | None = None,
    stopped: Callable[[Given], Result] | None = None,
) -> Iterator[Result]:
    """Results as they come from `jobs` processes; one that dies takes only its own call with it, which gives `died`.

    A call that takes longer than `limit` seconds is ended, and gives `stopped`.
    """
    idle: SimpleQueue[ProcessPoolExecutor] = SimpleQueue()
    for _ in range(jobs):
        idle.put(_process(jobs))

    def in_own_process(one: Given) -> Result:
        process = idle.get()
        try:
            return process.submit(execute, one).result(limit)
        except (BrokenProcessPool, FutureTimeout) as error:
            _end(process)
            process = _process(jobs)
            return stopped(one) if stopped is not None and isinstance(error, FutureTimeout) else died(one)
        finally:
            idle.put(process)

    with ThreadPoolExecutor(jobs) as pool:
        waiting: list[Future[Result]] = [pool.submit(in_own_process, one) for one in given]
        try:
            for finished in as_completed(waiting):
                yield finished.result()
        finally:
            # Who stops in the middle does not wait; idle processes that are not waited for leave a warning behind.
            ended = all(future.done() for future in waiting)
            for future in waiting:
                future.cancel()
            while not idle.empty():
                idle.get().shutdown(wait=ended, cancel_futures=True)


def _process(jobs: int) -> ProcessPoolExecutor:
    # Copies of a process that has only loaded the libraries, once for all: a copy of this one could use neither CUDA
    # nor torch's threads.
    copies = "forkserver" in multiprocessing.get_all_start_methods()
    fresh = multiprocessing.get_context("forkserver" if copies else "spawn")
    if copies:
        fresh.set_forkserver_preload(["maskdiff.bench.runs.tasks"])
    return ProcessPoolExecutor(1, mp_context=fresh, initializer=_share_cores, initargs=(jobs,))


def _end(process: ProcessPoolExecutor) -> None:
    """End a process in the middle of what it does."""
    for worker in list((process._processes or {}).values()):
        worker.kill()
    process.shutdown(cancel_futures=True)


def _share_cores(jobs: int) -> None:
    threads.use(max(1, threads.wanted() // jobs))
