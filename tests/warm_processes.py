"""Real processes that need not load the libraries, which takes seconds and is not what most tests are about.

One process for a run loads them and copies itself for each process that a test starts. A copy has its own signals,
standard streams and end, as a process that was started the usual way; tests/cli and tests/test_package.py start some
of those too.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

SRC = Path(__file__).resolve().parents[1] / "src"
# What commands and the service load when they start, as far as it is here.
LIBRARIES = ("fastapi", "uvicorn", "pandas", "numba", "maskdiff.cli", "maskdiff.jobs", "maskdiff.service.app")
# How a number is sent.
_DIGITS = 12
# More than an exit status and what a process used take.
_MOST_BYTES = 4096


@cache
def _launcher() -> socket.socket:
    """A socket to the process that copies itself; when the socket ends, it does."""
    own, other = socket.socketpair()
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with other:
        command = [sys.executable, __file__, str(other.fileno())]
        process = subprocess.Popen(command, pass_fds=[other.fileno()], env=env)
    atexit.register(lambda: (own.close(), process.wait()))
    return own


class WarmProcess:
    """`maskdiff ARGUMENTS`, or Python code with these as sys.argv[1:]; what tests need of `subprocess.Popen`.

    The streams are standard input, output and error. `usage` is what the process used, once it has ended.
    """

    def __init__(self, arguments: Sequence[object], code: str, *streams: IO[Any]) -> None:
        self._line, other = socket.socketpair()
        request = json.dumps([list(map(str, arguments)), code, os.getcwd()]).encode()
        with other:
            handles = [*(stream.fileno() for stream in streams), other.fileno()]
            socket.send_fds(_launcher(), [request], handles)
        self.pid = self._number()
        self.returncode: int | None = None
        self.usage: resource.struct_rusage | None = None
        self.stdout: IO[str] | None = None

    def _number(self) -> int:
        return int(self._line.recv(_DIGITS, socket.MSG_WAITALL))

    def wait(self, timeout: float | None = None) -> int | None:
        """The exit status; None where it still runs after this many seconds."""
        if self.returncode is None and select.select([self._line], [], [], timeout)[0]:
            self.returncode, used = json.loads(self._line.recv(_MOST_BYTES))
            self.usage = resource.struct_rusage(used)
            self._line.close()
        return self.returncode

    def poll(self) -> int | None:
        return self.wait(0)

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_warm(*arguments: object, code: str = "", stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Its exit status and what it wrote."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        status = WarmProcess(arguments, code, given, out, err).wait()
        assert status is not None
        said = [stream.seek(0) or stream.read().decode() for stream in (out, err)]
    return subprocess.CompletedProcess(arguments, status, *said)


# In the process that copies itself -----------------------------------------------------------------------------------


def _copies(line: socket.socket) -> None:
    """Copy this process for each request; only a copy returns, with nothing left to do but its work."""
    while True:
        request, handles, _, _ = socket.recv_fds(line, 1 << 20, 4)
        if not request:
            os._exit(0)
        if not os.fork():
            line.close()
            _keep(request, handles)
            return
        for handle in handles:
            os.close(handle)


def _keep(request: bytes, handles: list[int]) -> None:
    """Copy once more: the first copy waits for the second, and says how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    line = socket.socket(fileno=handles.pop())
    if work := os.fork():
        line.sendall(str(work).zfill(_DIGITS).encode())
        _, status, usage = os.wait4(work, 0)
        line.sendall(json.dumps([os.waitstatus_to_exitcode(status), tuple(usage)]).encode())
        os._exit(0)
    line.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background has it ignored
    for own, handle in enumerate(handles):
        os.dup2(handle, own)
        os.close(handle)
    sys.argv[1:], code, folder = json.loads(request)
    os.chdir(folder)
    exec(code or "from maskdiff.cli import main; sys.exit(main(sys.argv[1:]))", {"sys": sys, "__name__": "__main__"})


if __name__ == "__main__":
    channel = socket.socket(fileno=int(sys.argv[1]))
    for library in LIBRARIES:
        if find_spec(library):
            import_module(library)
    gc.freeze()  # copies share this memory as long as they do not look through it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _copies(channel)
