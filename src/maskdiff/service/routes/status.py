"""Whether the service is up, and what it measures."""

from __future__ import annotations

import os
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from maskdiff.service.metrics import MEDIA_TYPE
from maskdiff.service.requests.problems import Problem, answers
from maskdiff.service.state import TheService
from maskdiff.version import __version__

router = APIRouter(tags=["status"])


class Health(BaseModel):
    """The service runs."""

    status: Literal["ok"]
    version: str


class Ready(BaseModel):
    """The service takes requests; the number of models in its folder."""

    status: Literal["ready"]
    models: int


@router.get("/health", responses=answers())
async def health() -> Health:
    """Whether the process runs."""
    return Health(status="ok", version=__version__)


@router.get("/ready", responses=answers(503))
async def ready(service: TheService) -> Ready:
    """Whether the service can work: it is not about to end, and its folder can be read and written."""
    folder = service.settings.folder
    if service.closing.is_set() or not os.access(folder, os.R_OK | os.W_OK):
        raise Problem(503, "the service is about to end, or its folder cannot be used.", {"Retry-After": "5"})
    return Ready(status="ready", models=len(service.models.list()))


@router.get("/metrics", responses={200: {"content": {"text/plain": {}}}, **answers()}, response_class=Response)
async def metrics(service: TheService) -> Response:
    """Rows, alarms, latency and drift, as Prometheus reads them."""
    return Response(service.metrics.text(), media_type=MEDIA_TYPE)
