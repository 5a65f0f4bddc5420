"""A real server in a process of its own, as users start it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from ..warm_processes import WarmProcess

SRC = Path(__file__).resolve().parents[2] / "src"
# Seconds to wait for what will come: a busy machine is no fault of the service.
PATIENCE = 120.0
OWN = {"X-Maskdiff": "1"}


@dataclass
class Running:
    """A server: its process, its address, and a client that speaks to it."""

    process: subprocess.Popen[str] | WarmProcess
    url: str
    folder: Path
    log: Path
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=self.url, headers=OWN, timeout=PATIENCE)

    @property
    def port(self) -> int:
        return httpx.URL(self.url).port or 0

    def logged(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        """As if the power went."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to end; its exit status."""
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def start(folder: Path, *options: str, **more: Any) -> Running:
    """A server of the models in a folder, at any free port, ready to be asked."""
    log = folder.parent / f"{folder.name}-{time.monotonic_ns()}.log"
    command = ["serve", str(folder), "--port", "0", *options]
    process = _cold(command, log, **more) if more else warm(command, log)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert " at http" in line, log.read_text()
    return Running(process, line.split(" at ")[1].strip().rstrip("/"), folder, log)


def warm(command: list[str], log: Path) -> WarmProcess:
    """The command in a copy of a process that has loaded the libraries."""
    reading, writing = (os.fdopen(handle, mode) for handle, mode in zip(os.pipe(), "rw", strict=True))
    with open(os.devnull) as nothing, writing, log.open("w") as err:
        process = WarmProcess(command, "", nothing, writing, err)
    process.stdout = reading
    return process


def _cold(command: list[str], log: Path, **more: Any) -> subprocess.Popen[str]:
    whole = [sys.executable, "-m", "maskdiff", *command]
    with log.open("w") as err:
        return subprocess.Popen(whole, env=environment(), stdout=subprocess.PIPE, stderr=err, text=True, **more)


@contextmanager
def serving(folder: Path, *options: str, **more: Any) -> Iterator[Running]:
    server = start(folder, *options, **more)
    try:
        yield server
    finally:
        server.stop()


def wait_until(happened: Callable[[], Any], what: str = "it") -> Any:
    """What comes back once it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen")
