"""The application: routes, guard and the errors that become answers."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from maskdiff.errors import MaskdiffError
from maskdiff.service.background.launcher import Launcher
from maskdiff.service.requests.problems import Problem, problem_of
from maskdiff.service.requests.security import Guard
from maskdiff.service.routes import files, jobs, models, page, results, scoring, status
from maskdiff.service.settings import ServiceSettings
from maskdiff.service.state import Service
from maskdiff.version import __version__

log = logging.getLogger("maskdiff.service")


def create_app(settings: ServiceSettings, launcher: Launcher | None = None) -> FastAPI:
    """The service as an ASGI application; jobs are started by the `launcher`, or by one that is started for them."""
    service = Service(settings, launcher)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="maskdiff",
        version=__version__,
        description="Verdicts, reasons and models for rows of tables, sequences and texts. Higher = more anomalous.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    for one in (status, models, scoring, files, jobs, results, page):
        app.include_router(one.router)
    app.add_middleware(Guard, settings=settings, metrics=service.metrics)
    known = (Problem, MaskdiffError, OSError, sqlite3.OperationalError, RequestValidationError, HTTPException)
    for error_type in (*known, Exception):
        app.add_exception_handler(error_type, _refused(settings))
    return app


def _refused(settings: ServiceSettings) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        problem = _problem(error)
        if problem is None:
            log.error("%s in %s", type(error).__name__, request.url.path, exc_info=error)
            problem = Problem(500, "this is a fault of the service; its log says more.")
        elif settings.log_values:
            log.info("%s: %s", problem.status, ascii(problem.message))
        return problem.response()

    return answer


def _problem(error: Exception) -> Problem | None:
    """Messages of the form of a request name places, never values."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Problem(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail), error.headers)
    return problem_of(error)
