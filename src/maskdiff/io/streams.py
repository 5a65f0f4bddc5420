"""Bytes in and out: files, standard streams, gzip. A file stands under its name only once it is complete."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from maskdiff.errors import InputError
from maskdiff.io.atomic import atomic_write
from maskdiff.written_files import record_begun

STANDARD = "-"
HEAD = 1 << 20
_GZIP = b"\x1f\x8b"
_DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


class ByteSource:
    """Bytes read from the first to the last, unpacked where gzip packed them; standard input can be read only once."""

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or ("standard input" if path == STANDARD else path)
        self.repeatable = path != STANDARD
        self.encoding: str | None = None  # of its text, once it was found
        self._once: tuple[bytes, BinaryIO] | None = None

    def open(self) -> BinaryIO:
        """The bytes from the first on."""
        if not self.repeatable:
            return self._standard_input()[1]
        if Path(self.path).is_dir():
            raise InputError(f"{self.path} is a folder; a file is needed.")
        if not Path(self.path).exists():
            raise InputError(f"there is no file {self.path}.")
        with open(self.path, "rb") as raw:
            packed = raw.read(2) == _GZIP
        return cast(BinaryIO, gzip.open(self.path) if packed else open(self.path, "rb"))

    def checked_path(self) -> str:
        """The path of a file that is there and can be opened."""
        self.open().close()
        return self.path

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes, at most `size` of them, and at most a megabyte of a pipe; they will still be read."""
        if not self.repeatable:
            return self._standard_input()[0]
        with self.open() as stream, self.reading():
            return stream.read(size)

    def parts(self) -> Iterator[bytes]:
        """All bytes, a megabyte at a time; of a pipe only the first, for they will still be read."""
        if not self.repeatable:
            yield self.head()
            return
        with self.open() as stream, self.reading():
            while part := stream.read(HEAD):
                yield part

    def _standard_input(self) -> tuple[bytes, BinaryIO]:
        if self._once is None:
            with self.reading():
                raw: Any = sys.stdin.buffer
                stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw)
                head = stream.read(HEAD)
            self._once = head, cast(BinaryIO, io.BufferedReader(_Chained(head, stream)))
        return self._once

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Damaged packing is the file's fault."""
        try:
            yield
        except _DAMAGED as error:
            raise InputError(f"{self.name} is packed by gzip, but damaged or cut off ({error}).") from error


class _Chained(io.RawIOBase):
    """Bytes that were read ahead, then the stream they were read from."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self.head, self.rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self.head.readinto(buffer) or self.rest.readinto(buffer)  # type: ignore[attr-defined]


@contextmanager
def open_source(path: str, *, repeatable: bool, name: str | None = None) -> Iterator[ByteSource]:
    """The bytes at `path`, "-" for standard input; `repeatable`: they are to be read more than once.

    `name` is what the source is called in messages, if not by its path.
    """
    if path != STANDARD or not repeatable:
        yield ByteSource(path, name)
        return
    with _temporary_file() as spool:
        with open(spool, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield ByteSource(spool, "standard input")


@contextmanager
def _temporary_file() -> Iterator[str]:
    handle, path = tempfile.mkstemp(prefix="maskdiff-")
    os.close(handle)
    try:
        yield path
    finally:
        Path(path).unlink(missing_ok=True)


@contextmanager
def open_output(path: str) -> Iterator[BinaryIO]:
    """A file to write, "-" for standard output; a file appears under its name only once it is complete."""
    if path != STANDARD:
        with atomic_write(path) as file:
            yield file
        return
    record_begun(STANDARD)
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
