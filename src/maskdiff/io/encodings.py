"""Which encoding a text has, decided over all of it.

A byte-order mark decides. Text that is UTF-8 to its last byte is UTF-8; zero bytes at every other place are those of
UTF-16; anything else is taken for cp1252, the encoding of Windows in Western Europe, of which latin-1 is nearly a part.
An encoding that is assumed is said in a warning, with a word it reads.
"""

from __future__ import annotations

import codecs
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from maskdiff.errors import ReadingWarning, SettingError
from maskdiff.io.streams import HEAD, ByteSource

UTF8 = "utf-8"
ASSUMED = "cp1252"
# A mark of UTF-32 begins like one of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Which of two bytes is zero for the letters of Western languages.
_ZEROS = {1: "utf-16-le", 0: "utf-16-be"}
_UNDEFINED = [bytes([byte]) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)]
_WORD = re.compile(rb"[^\s,;|\"']*[\x80-\xff][^\s,;|\"']*")
_LONGEST_WORD = 40


def encoding_of(source: ByteSource, given: str | None) -> str | None:
    """The encoding that is given, or else the one that is found; None for a pipe that holds only ASCII so far."""
    if given is not None:
        _check_known(given)
        return given
    if source.encoding is None:
        source.encoding = _of_mark(source.head()) or _of_zeros(source) or _of_all_parts(source)
    return source.encoding


def encoding_of_part(source: ByteSource, part: bytes, line: int) -> str:
    """The encoding of a pipe in which all bytes before this part, which begins in this line, were ASCII."""
    counts = ByteCounts(line)
    counts.add(part)
    source.encoding = counts.encoding(source.name)
    return source.encoding


def line_ends(part: bytes) -> int:
    """How many lines end in a part of a text; old Macs end them by returns alone."""
    return part.count(b"\n") or part.count(b"\r")


def _check_known(encoding: str) -> None:
    try:
        with suppress(UnicodeError):  # one byte may be too few for a character
            b" ".decode(encoding)
    except LookupError:
        raise SettingError(f"no encoding is called {encoding!r}; utf-8, cp1252 and utf-16 are common ones.") from None


def _of_mark(head: bytes) -> str | None:
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


def _of_zeros(source: ByteSource) -> str | None:
    """UTF-16 without a mark: at one of two places nearly all bytes are zero, at the other hardly any."""
    head = source.head()
    for place, name in _ZEROS.items():
        zeros, others = head[place::2].count(0), head[1 - place :: 2].count(0)
        if 4 * zeros > len(head[place::2]) and 20 * others < zeros:
            _warn(f"{source.name}: every other byte is zero, so {name} is assumed.")
            return name
    return None


def _of_all_parts(source: ByteSource) -> str | None:
    counts = ByteCounts()
    for part in source.parts():
        counts.add(part)
    if not source.repeatable and counts.is_ascii and len(source.head()) >= HEAD:
        return None
    return counts.encoding(source.name)


@dataclass
class ByteCounts:
    """What speaks for UTF-8 and what against it, in bytes that come in parts, from this line on."""

    line: int = 1
    is_ascii: bool = True
    # Bytes that only continue a character of UTF-8, and bytes that no such character has.
    continuing: int = 0
    wrong: int = 0
    undefined: bool = False
    example: tuple[bytes, int] | None = None
    decoder: Any = field(default_factory=lambda: codecs.getincrementaldecoder(UTF8)("surrogateescape"))

    def add(self, part: bytes) -> None:
        if self.example is None:
            self._find_example(part)
        if part.isascii() and not self.decoder.getstate()[0]:
            return
        self.is_ascii = False
        text = self.decoder.decode(part)
        kept = text.encode(UTF8, "ignore")  # wrong bytes became lone surrogates, which are left out
        characters = len(kept.decode(UTF8))
        self.wrong += len(text) - characters
        self.continuing += len(kept) - characters
        self.undefined |= any(byte in part for byte in _UNDEFINED)

    def _find_example(self, part: bytes) -> None:
        found = None if part.isascii() else _WORD.search(part)
        if found is not None:
            self.example = found[0][:_LONGEST_WORD], self.line + line_ends(part[: found.start()])
        self.line += line_ends(part)

    def encoding(self, name: str) -> str:
        """UTF-8, also where a few bytes of it are damaged, which is then said when they are read; or cp1252."""
        wrong = self.wrong + len(self.decoder.getstate()[0])
        if not wrong or self.undefined or self.continuing > wrong:
            return UTF8
        word, line = self.example or (b"", self.line)
        _warn(f"{name} is not UTF-8, so {ASSUMED} is assumed, which reads {word.decode(ASSUMED)!r} in line {line}.")
        return ASSUMED


def _warn(message: str) -> None:
    warnings.warn(ReadingWarning(f"{message} If that is wrong: encoding=NAME.", setting="encoding"), stacklevel=2)
