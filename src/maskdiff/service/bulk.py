"""Files that come as a body and go back scored: in a thread of their own, so that single rows need not wait."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from maskdiff.service.requests.problems import busy, too_late

T = TypeVar("T")
# Files that wait for their turn.
_MOST_WAITING = 8


class BulkWork:
    """Runs longer work one after the other; beyond a few that wait, more is refused. Nobody waits beyond `seconds`."""

    def __init__(self, seconds: float, threads: int = 1, most_waiting: int = _MOST_WAITING) -> None:
        self.seconds = seconds
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix="bulk")
        self.most, self.held = threads + most_waiting, 0
        self.lock = threading.Lock()

    async def run(self, work: Callable[[], T]) -> T:
        with self.lock:
            if self.held >= self.most:
                raise busy(5)
            self.held += 1
        try:
            # Work that has begun goes on to its end even if the client has gone or the time is over.
            future = self.pool.submit(work)
        except BaseException:
            self._release()
            raise
        future.add_done_callback(lambda _: self._release())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except TimeoutError:
            raise too_late(self.seconds) from None

    def _release(self) -> None:
        with self.lock:
            self.held -= 1

    def close(self) -> None:
        self.pool.shutdown(wait=True)


class Scratch:
    """A folder for the files of one request; gone when the answer is sent."""

    def __init__(self, parent: Path) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        self.folder = tempfile.TemporaryDirectory(prefix="request-", dir=parent, ignore_cleanup_errors=True)

    def path(self, name: str) -> Path:
        return Path(self.folder.name, name)

    def remove(self) -> None:
        with suppress(OSError):
            self.folder.cleanup()
