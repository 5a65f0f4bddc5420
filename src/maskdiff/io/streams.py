"""Bytes in and out: files, standard streams, gzip, encodings. A file stands under its name only once it is complete."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from maskdiff.errors import BadLineError, InputError, SettingError
from maskdiff.io.atomic import atomic_write
from maskdiff.written_files import record_begun

STANDARD = "-"
HEAD = 1 << 20
_GZIP = b"\x1f\x8b"
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


class ByteSource:
    """Bytes read from the first to the last, unpacked where gzip packed them; standard input can be read only once."""

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or ("standard input" if path == STANDARD else path)
        self.repeatable = path != STANDARD
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


class Decoder:
    """Bytes to text, chunk by chunk; bytes that are no text are named by their line."""

    def __init__(self, source: ByteSource, encoding: str | None) -> None:
        self.name = source.name
        self.encoding = encoding_of(source, encoding)
        self.decoder = codecs.getincrementaldecoder(self.encoding)()
        self.lines = 1

    def decode(self, raw: bytes, *, final: bool = False) -> str:
        try:
            text = self.decoder.decode(raw, final)
        except UnicodeDecodeError as error:
            line = self.lines + error.object[: error.start].count(b"\n")
            raise BadLineError(
                f"{self.name}, line {line}: the byte 0x{error.object[error.start]:02x} is not {self.encoding}. "
                'Say how the file is encoded, for example encoding="cp1252".',
                setting="encoding",
            ) from error
        self.lines += text.count("\n")
        return text


class LineEnds:
    """Counts the lines of a text that comes in parts, whichever way they end.

    >>> ends = LineEnds()
    >>> for part in (b"a\\r", b"\\nb\\rc\\n", b"d"):
    ...     ends.add(part)
    >>> ends.lines
    4
    """

    def __init__(self) -> None:
        self.ends, self.last = 0, b"\n"

    def add(self, text: bytes) -> None:
        if not text:
            return
        returns = text.count(b"\r")
        joined = text.count(b"\r\n") if returns else 0
        self.ends += text.count(b"\n") + returns - joined - (self.last == b"\r" and text.startswith(b"\n"))
        self.last = text[-1:]

    @property
    def lines(self) -> int:
        """Those that ended, and the last one if it did not."""
        return self.ends + (self.last not in (b"\n", b"\r"))


class Utf8(io.RawIOBase):
    """The text of a source as UTF-8, whatever it was written in."""

    def __init__(self, source: ByteSource, encoding: str | None) -> None:
        self.decoder = Decoder(source, encoding)
        self.source, self.stream = source, source.open()
        self.ready = b""
        self.line_ends = LineEnds()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            with self.source.reading():
                raw = self.stream.read(len(buffer))
            self.ready = self.decoder.decode(raw, final=not raw).encode("utf-8", "backslashreplace")
            self.line_ends.add(self.ready)
            if not raw:
                break
        taken, self.ready = self.ready[: len(buffer)], self.ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()


def encoding_of(source: ByteSource, encoding: str | None) -> str:
    """The encoding that is given; without one, what a byte-order mark says, or UTF-8."""
    if encoding is None:
        head = source.head()[:3]
        return next((name for mark, name in _MARKS.items() if head.startswith(mark)), "utf-8")
    try:
        with suppress(UnicodeError):  # one byte may be too few for a character
            b" ".decode(encoding)
    except LookupError:
        raise SettingError(f"no encoding is called {encoding!r}; utf-8, cp1252 and utf-16 are common ones.") from None
    return encoding


@contextmanager
def open_source(path: str, *, repeatable: bool) -> Iterator[ByteSource]:
    """The bytes at `path`, "-" for standard input; `repeatable`: they are to be read more than once."""
    if path != STANDARD or not repeatable:
        yield ByteSource(path)
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
