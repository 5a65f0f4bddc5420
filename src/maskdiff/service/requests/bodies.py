"""Bodies of requests: received within limits, decompressed within limits, kept in a file or in memory."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from maskdiff.service.requests.problems import Problem

GZIP_MAGIC = b"\x1f\x8b"
_AUTO = 32 + zlib.MAX_WBITS  # the header says whether it is gzip or zlib
_AT_ONCE = 1 << 18


class TooLarge(Problem):
    """More than a limit allows."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(413, f"{what}: at most {most:,} are accepted.")


class Unpacking:
    """Bytes as they come, decompressed where they are packed by gzip; a bomb is noticed before it has grown.

    Without `packed` it is decided by the first bytes.
    """

    def __init__(self, most: int, *, packed: bool | None = None) -> None:
        self.most, self.packed, self.total = most, packed, 0
        self.head = b""
        self.stream = zlib.decompressobj(_AUTO)

    def add(self, part: bytes) -> list[bytes]:
        if self.packed is None:
            self.head += part
            if len(self.head) < len(GZIP_MAGIC):
                return []
            part, self.packed = self.head, self.head.startswith(GZIP_MAGIC)
        return [self._counted(one) for one in self._unpacked(part)] if self.packed else [self._counted(part)]

    def end(self) -> list[bytes]:
        """What is left when all bytes came."""
        if self.packed and not self.stream.eof:
            raise Problem(400, "the body is packed by gzip, but damaged or cut off.")
        return [self._counted(self.head)] if self.packed is None else []

    def _unpacked(self, part: bytes) -> list[bytes]:
        parts = []
        try:
            while part and not self.stream.eof:
                parts.append(self.stream.decompress(part, _AT_ONCE))
                if self.total + sum(map(len, parts)) > self.most:
                    raise TooLarge("bytes once the body is unpacked", self.most)
                part = self.stream.unconsumed_tail
        except zlib.error as error:
            raise Problem(400, "the body is packed by gzip, but damaged or cut off.") from error
        if self.stream.eof and self.stream.unused_data:
            raise Problem(400, "the body holds more than one packed part.")
        return parts

    def _counted(self, part: bytes) -> bytes:
        self.total += len(part)
        if self.total > self.most:
            raise TooLarge("bytes", self.most)
        return part


async def received(request: Request, most: int) -> AsyncIterator[bytes]:
    """The parts of a body, at most so many bytes; the guard sees to it that they come in time."""
    stated = request.headers.get("content-length", "0")
    if not stated.isdecimal() or int(stated) > most:
        raise TooLarge("bytes of a body", most)
    total = 0
    try:
        async for part in request.stream():
            total += len(part)
            if total > most:
                raise TooLarge("bytes of a body", most)
            yield part
    except ClientDisconnect:
        raise Problem(400, "the client went away.") from None


def encoding_of(request: Request) -> bool | None:
    """Whether a header says that the body is packed by gzip; None: its first bytes decide."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Problem(415, "bodies are sent as they are, or packed by gzip.")
    return True if encoding == "gzip" else None


async def in_memory(request: Request, most: int) -> bytes:
    """The whole body of a JSON request, decompressed; `most` holds before and after."""
    unpacking = Unpacking(most, packed=encoding_of(request) or False)
    parts = [one async for part in received(request, most) for one in unpacking.add(part)]
    return b"".join([*parts, *unpacking.end()])


async def to_file(request: Request, path: Path, most: int, unpacked: int) -> int:
    """Write the body to a file, decompressed; its size there. What is cut off or too large leaves no file."""
    unpacking = Unpacking(unpacked, packed=encoding_of(request))
    try:
        with path.open("xb") as file:
            async for part in received(request, most):
                file.writelines(unpacking.add(part))
            file.writelines(unpacking.end())
        with path.open("rb") as file:
            if file.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                raise Problem(400, "the body is packed more than once.")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return unpacking.total
