"""The process that serves: listens, logs, and ends when what it accepted is done."""

from __future__ import annotations

import logging
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI

from maskdiff.errors import SettingError
from maskdiff.service.app import create_app
from maskdiff.service.background.launcher import copied_launcher
from maskdiff.service.requests.headers import headers_within
from maskdiff.service.settings import ServiceSettings

# Seconds that accepted requests have left once the service is asked to end.
_LAST_SECONDS = 60
_BACKLOG = 2048


class Server(uvicorn.Server):
    """Lets streams of events know at once that the service ends; everything else is finished."""

    def __init__(self, config: uvicorn.Config, closing: threading.Event) -> None:
        super().__init__(config)
        self.closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.closing.set()
        super().handle_exit(sig, frame)


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is asked to end."""
    _log_to_stderr()
    with copied_launcher(settings.folder) as launcher:
        _serve(settings, create_app(settings, launcher))


def _serve(settings: ServiceSettings, app: FastAPI) -> None:
    listening = listen(settings.host, settings.port)
    config = uvicorn.Config(
        app,
        http=headers_within(settings.limits.receive_seconds),
        log_config=None,
        access_log=False,  # the guard logs, without what people search for
        server_header=False,
        timeout_graceful_shutdown=_LAST_SECONDS,
        timeout_keep_alive=30,
        backlog=_BACKLOG,
        h11_max_incomplete_event_size=1 << 16,
    )
    server = Server(config, app.state.service.closing)
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"serving {settings.folder} at http://{shown}:{port}/", flush=True)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once all is done
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With the protocol named, asyncio sends small parts at once; else an answer may wait 40 ms for the client.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)  # who comes before the service is ready is answered when it is
    except OSError as error:
        raise SettingError(f"cannot listen on {host}, port {port}: {error.strerror}.", setting="port") from error
    return made


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
