"""Who may ask: the token, the address that was asked for, and a header that pages of others cannot send."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from typing import Annotated

from fastapi import Header
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from maskdiff.service.metrics import Metrics
from maskdiff.service.requests.problems import Problem
from maskdiff.service.settings import Limits, ServiceSettings, is_loopback

log = logging.getLogger("maskdiff.service")

HEADER = "X-Maskdiff"
# What is served without a token: the page, which holds no data, and whether the service is up.
OPEN_PATHS = ("/", "/health", "/ready")
OPEN_FOLDERS = ("/page/",)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SAFE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


async def own_client(x_maskdiff: Annotated[str | None, Header(description="Any value.")] = None) -> None:
    """Whatever changes something needs this header: a foreign page in a browser cannot send it."""
    if x_maskdiff is None:
        raise Problem(403, f"what changes something needs the header {HEADER}, with any value.")


class Guard:
    """Checks every request before it reaches a route, adds the headers of safety, counts and logs the answers."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, metrics: Metrics) -> None:
        self.app, self.settings, self.metrics = app, settings, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = self.refusal(scope)
        bounded = BoundedBody(receive, self.settings.limits, scope["path"])
        try:
            await (self.app if problem is None else problem.response())(scope, bounded, send_safely)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.answered(scope["method"], route, status, seconds)
            self._log(scope, status, seconds)

    def refusal(self, scope: Scope) -> Problem | None:
        """Why this request is not looked at, None where it is."""
        headers, path = Headers(scope=scope), scope["path"]
        token = self.settings.token
        if token is None and not is_loopback(_host(headers.get("host", ""))):
            return Problem(403, "the service answers only requests to a loopback address, such as 127.0.0.1.")
        if token is None or path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
            return None
        scheme, _, given = headers.get("authorization", "").partition(" ")
        fits = hmac.compare_digest(given.strip().encode(), token.encode())
        if scheme.lower() != "bearer" or not fits:
            return Problem(401, "a token is needed: Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"})
        return None

    def _log(self, scope: Scope, status: int, seconds: float) -> None:
        # Queries may hold what people search for, which are values of cells.
        query = scope["query_string"].decode("ascii", "replace") if self.settings.log_values else ""
        path = scope["path"] + (f"?{query}" if query else "")
        level = logging.INFO if status < 500 else logging.ERROR
        log.log(level, "%s %s %d %.1f ms", scope["method"], ascii(path)[1:-1], status, 1000 * seconds)


class BoundedBody:
    """What is received of a request: bytes and seconds are bounded whatever route reads them."""

    def __init__(self, receive: Receive, limits: Limits, path: str) -> None:
        self.receive, self.seconds = receive, float(limits.receive_seconds)
        self.left = limits.upload_bytes if path == "/files" else limits.body_bytes
        self.deadline: float | None = None
        self.complete = False

    async def __call__(self) -> Message:
        if self.complete:  # only that the client goes away can come now
            return await self.receive()
        now = asyncio.get_running_loop().time()
        self.deadline = self.deadline or now + self.seconds
        try:
            async with asyncio.timeout_at(self.deadline):
                message = await self.receive()
        except TimeoutError:
            raise Problem(408, f"the body did not arrive within {self.seconds:g} s.") from None
        if message["type"] == "http.request":
            self.left -= len(message.get("body", b""))
            self.complete = not message.get("more_body", False)
        if self.left < 0:
            raise Problem(413, "the body is too large.")
        return message


def _host(header: str) -> str:
    """The address in a Host header, without its port.

    >>> _host("127.0.0.1:8000"), _host("[::1]:8000"), _host("localhost")
    ('127.0.0.1', '::1', 'localhost')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if ":" in header else header
