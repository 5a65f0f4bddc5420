"""A time limit for the headers of a request: a client that sends them byte by byte holds no connection for long."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class HeaderDeadline(H11Protocol):
    """Closes a connection whose next request is not complete up to the end of its headers within `seconds`.

    The time runs from the moment of connecting, or from the first byte of a later request; uvicorn itself bounds the
    silence between two requests, and the guard bounds the body.
    """

    seconds = 30.0
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self.deadline is None:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _start(self) -> None:
        self.deadline = self.loop.call_later(self.seconds, self._give_up)

    def _stop(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()


def headers_within(seconds: float) -> type[HeaderDeadline]:
    """The protocol with this limit, as uvicorn takes it."""
    return type("BoundedHeaders", (HeaderDeadline,), {"seconds": seconds})
