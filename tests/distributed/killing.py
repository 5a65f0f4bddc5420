"""Processes that are found by what they do, and killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from types import ModuleType
from typing import Any

import pytest

from maskdiff.distributed import reading
from maskdiff.distributed.attempts import Attempts
from maskdiff.distributed.places import Place


def processes(text: str) -> list[int]:
    """The processes with this text in their command line, this one not among them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if text in line and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


@contextmanager
def killing_who_begins(name: str, begun: Place, does: str) -> Iterator[list[str]]:
    """Kills the one worker that does this, each time it notes that it began a bundle; what was noted.

    `name` is that of the first part of the bundle, `begun` the folder of such notes.
    """
    done, noted = Event(), list[str]()
    attempts = Attempts(begun, name)
    note = Path(attempts.place.path)
    attempts.close()

    def kill() -> None:
        while not done.wait(0.005):
            with suppress(FileNotFoundError, ProcessLookupError):
                if (text := note.read_text()) not in noted and (found := processes(does)):
                    os.kill(found[0], signal.SIGKILL)
                    noted.append(text)

    killing = Thread(target=kill)
    killing.start()
    try:
        yield noted
    finally:
        done.set()
        killing.join()
    assert not note.exists()


def make_endless(path: Path, door: ModuleType, patch: pytest.MonkeyPatch) -> None:
    """Whoever opens this file waits until he is killed, from when workers read the files of a job on."""

    def each_part(*given: Any) -> Any:
        if not path.is_fifo():
            path.unlink()
            os.mkfifo(path)
        return reading.each_part(*given)

    patch.setattr(door, "each_part", each_part)
