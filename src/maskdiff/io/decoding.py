"""Bytes to text, in parts: decoded, their lines counted, and handed on as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import Any

from maskdiff.errors import BadLineError
from maskdiff.io.encodings import encoding_of, encoding_of_part, line_ends
from maskdiff.io.streams import ByteSource


class Decoder:
    """Bytes to text, chunk by chunk; bytes that are no text are named by their line.

    What a pipe is encoded in may show only after many ASCII characters, which are the same in all that is assumed.
    """

    def __init__(self, source: ByteSource, encoding: str | None) -> None:
        self.source, self.line = source, 1
        self.encoding = encoding_of(source, encoding)
        self.decoder = codecs.getincrementaldecoder(self.encoding or "ascii")()

    def decode(self, raw: bytes, *, final: bool = False) -> str:
        if self.encoding is None and not raw.isascii():
            self.encoding = encoding_of_part(self.source, raw, self.line)
            self.decoder = codecs.getincrementaldecoder(self.encoding)()
        try:
            text = self.decoder.decode(raw, final)
        except UnicodeDecodeError as error:
            line = self.line + line_ends(error.object[: error.start])
            raise BadLineError(
                f"{self.source.name}, line {line}: the byte 0x{error.object[error.start]:02x} is not {self.encoding}. "
                'Say how the file is encoded, for example encoding="cp1252" or "cp850".',
                setting="encoding",
            ) from error
        self.line += line_ends(raw)
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
