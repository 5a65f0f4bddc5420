"""Processes for jobs: copies of one that has the libraries loaded, so that jobs begin at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Self

from maskdiff.service.background.process import launch_jobs

# Seconds that a process is given to end by itself.
_POLITE = 2.0


class Launcher:
    """A process that has loaded the libraries and copies itself for every job; `used` is when it was last needed."""

    def __init__(self, line: socket.socket, process: subprocess.Popen[bytes] | BaseProcess) -> None:
        self.socket, self.process = line, process
        self.used = time.monotonic()

    @classmethod
    def started(cls, folder: Path) -> Self:
        """One that loads the libraries itself, for the jobs of this folder."""
        own, other = socket.socketpair()
        command = [sys.executable, "-m", "maskdiff.service.background.process", str(folder)]
        with other:
            return cls(own, subprocess.Popen(command, stdin=other.fileno(), start_new_session=True))

    @property
    def shares_memory(self) -> bool:
        """Whether it is a copy of this process, and its libraries take no memory of their own."""
        return isinstance(self.process, BaseProcess)

    def is_alive(self) -> bool:
        return self.process.is_alive() if isinstance(self.process, BaseProcess) else self.process.poll() is None

    def launch(self, job: str, handle: int) -> RunningJob:
        """A process for this job, which holds the lock of this handle."""
        own, other = socket.socketpair()
        with other:
            socket.send_fds(self.socket, [job.encode()], [handle, other.fileno()])
        self.used = time.monotonic()
        return RunningJob(own)

    def end(self) -> None:
        """By closing its socket or, if it does not listen, by force."""
        self.socket.close()
        if not self._ends_within(_POLITE):
            self.process.kill()
            self._ends_within(None)

    def _ends_within(self, seconds: float | None) -> bool:
        if isinstance(self.process, BaseProcess):
            self.process.join(seconds)
            return not self.process.is_alive()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


@contextmanager
def copied_launcher(folder: Path) -> Iterator[Launcher | None]:
    """A copy of this process as the launcher of a service that is about to start: it loads nothing, and shares memory.

    None where threads run already: a copy would not have them, but the locks that they hold.
    """
    if threading.active_count() > 1:
        yield None
        return
    import maskdiff.service.background.tasks  # noqa: F401  once, for the service and all jobs to come

    own, other = socket.socketpair()
    with other:
        process = multiprocessing.get_context("fork").Process(target=_launch, args=(own, other, folder), daemon=True)
        process.start()
    launcher = Launcher(own, process)
    try:
        yield launcher
    finally:
        launcher.end()


def _launch(service: socket.socket, own: socket.socket, folder: Path) -> None:
    service.close()  # else its end would not be noticed
    os.setsid()  # Ctrl-C is for the service, which ends this process in its own time
    launch_jobs(own, folder)


class RunningJob:
    """The process of a job, by the socket that ends when it does; the first that comes over it is its number."""

    def __init__(self, line: socket.socket) -> None:
        self.line, self.said = line, b""
        line.setblocking(False)

    def has_ended(self) -> bool:
        try:
            part = self.line.recv(64)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self.said += part
        return not part

    def end(self) -> None:
        """End the process by closing its socket, or, if it does not listen, by force."""
        self.has_ended()  # its number may have come by now
        self.line.close()
        number = int(self.said) if self.said.endswith(b"\n") else None
        until = time.monotonic() + _POLITE
        while number is not None and _is_there(number):
            if time.monotonic() > until:
                os.kill(number, signal.SIGKILL)
                return
            time.sleep(0.02)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
