"""The page: static files of this room, and the styles of the report, which it shares."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter
from starlette.responses import Response

from maskdiff.report.page import asset
from maskdiff.service.requests.problems import Problem

router = APIRouter(include_in_schema=False)

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
_OF_REPORT = ("report.css", "early.js")


@router.get("/")
async def index() -> Response:
    """The page."""
    return _file("index.html")


@router.get("/page/{name}")
async def part(name: str) -> Response:
    """One of its parts."""
    return _file(name)


def _file(name: str) -> Response:
    parts = _parts()
    if name not in parts:  # a name is looked up, never made into a path
        raise Problem(404, "the page has no such part.")
    ending = name[name.rindex(".") :]
    return Response(parts[name], media_type=_TYPES[ending], headers={"Cache-Control": "no-cache"})


@cache
def _parts() -> dict[str, str]:
    own = files("maskdiff.service").joinpath("page")
    found = {one.name: one.read_text(encoding="utf-8") for one in own.iterdir() if one.name[-4:] != ".pyc"}
    return found | {name: asset(name) for name in _OF_REPORT}
