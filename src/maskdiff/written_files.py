"""Which files were written since when: what is said after an interruption has to be true."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

_RECORDS: ContextVar[tuple[WrittenFiles, ...]] = ContextVar("records", default=())


@dataclass
class WrittenFiles:
    """The paths that were written completely, and the streams that were begun, in order."""

    complete: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)


@contextmanager
def recording_written_files() -> Iterator[WrittenFiles]:
    """What is written in here is recorded.

    >>> with recording_written_files() as written:
    ...     record_complete("a.csv")
    >>> written.complete
    ['a.csv']
    """
    record = WrittenFiles()
    token = _RECORDS.set((*_RECORDS.get(), record))
    try:
        yield record
    finally:
        _RECORDS.reset(token)


def record_complete(path: str) -> None:
    """This file stands under its name."""
    for record in _RECORDS.get():
        record.complete.append(path)


def record_begun(path: str) -> None:
    """Something is about to be written to this stream, pipe or device."""
    for record in _RECORDS.get():
        record.begun.append(path)
