"""What a request is refused with: a status and one sentence."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse

from maskdiff.errors import MaskdiffError, ModelFileError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_ROOM_IN_DATABASE = ("SQLITE_FULL", "SQLITE_IOERR_WRITE")


class Problem(Exception):
    """A request that cannot be answered: the status and the sentence for the client."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})

    def response(self) -> JSONResponse:
        return JSONResponse({"error": self.message}, self.status, self.headers)


class ProblemBody(BaseModel):
    """Why a request was refused."""

    error: str = Field(examples=["there is no model called claims."])


MEANINGS = {
    400: "The rows, settings or names cannot be used.",
    401: "The token is missing or wrong.",
    403: "The header X-Maskdiff is missing, or the Host is not this machine.",
    404: "There is no such model, file, job or result.",
    405: "The method is not allowed here.",
    408: "The body did not arrive in time.",
    409: "The state does not allow it: a name is taken, a model file is damaged, a job has ended.",
    413: "Too many bytes, rows or columns.",
    415: "The body is of a type that is not read here.",
    422: "The request does not have the form that is documented.",
    429: "Too many requests are waiting; try again after the seconds in Retry-After.",
    503: "The answer took too long.",
    507: "The disk is full.",
}


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route as its documentation lists them; every route may ask for a token and a method."""
    return {
        status: {"model": ProblemBody, "description": MEANINGS[status]} for status in sorted({401, 403, 405, *statuses})
    }


def busy(seconds: int = 1) -> Problem:
    return Problem(429, "too many requests are waiting; try again later.", {"Retry-After": str(seconds)})


def too_late(seconds: float) -> Problem:
    return Problem(503, f"the answer took longer than {seconds:g} s.", {"Retry-After": "10"})


def problem_of(error: Exception) -> Problem | None:
    """The refusal that an error of the library or of the disk stands for; None for a fault of ours."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, ModelFileError):
        return Problem(409, str(error))
    if isinstance(error, MaskdiffError):
        return Problem(400, " ".join(str(error).split()))
    full = isinstance(error, OSError) and error.errno in _NO_ROOM
    if full or (isinstance(error, sqlite3.OperationalError) and error.sqlite_errorname in _NO_ROOM_IN_DATABASE):
        return Problem(507, "the disk is full; nothing was kept.")
    return None
