"""The service: verdicts and reasons over HTTP, and a page to look at odd rows.

    settings = ServiceSettings(Path("models"))
    serve(settings)                                    # until the process is asked to end
    app = create_app(settings)                         # the same for any ASGI server

Needs the extra `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskdiff.errors import MissingExtraError
from maskdiff.service.settings import Limits, ServiceSettings, read_token

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["Limits", "ServiceSettings", "create_app", "read_token", "serve"]


def create_app(settings: ServiceSettings) -> FastAPI:
    """The service as an ASGI application."""
    return _imported("app").create_app(settings)  # type: ignore[no-any-return]


def serve(settings: ServiceSettings) -> None:
    """Serve until the process is asked to end."""
    _imported("server").serve(settings)


def _imported(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"maskdiff.service.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("maskdiff"):
            raise
        raise MissingExtraError("serve", needs=str(error.name)) from error
