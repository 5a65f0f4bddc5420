"""Verdicts and reasons for rows: JSON in, JSON out; CSV, JSON Lines and Parquet in, the same out with columns added."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from maskdiff.io.base import WriteOptions
from maskdiff.io.jsonl import batch_of, json_text
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs import ScoreOptions, score_file
from maskdiff.service.bulk import Scratch
from maskdiff.service.kept.models import ServedModel
from maskdiff.service.requests.bodies import TooLarge, in_memory, to_file
from maskdiff.service.requests.problems import Problem, answers, too_late
from maskdiff.service.requests.tables import CSV, FORMATS, JSON, LINES, PARQUET, check_table
from maskdiff.service.routes.models import EXAMPLE_ROW, ModelName
from maskdiff.service.scoring import Records, RowOptions
from maskdiff.service.state import Service, TheService

router = APIRouter(prefix="/models", tags=["scoring"])

Cell = str | int | float | bool | list[str | int | float | bool | None] | None
EXAMPLE = {"rows": [EXAMPLE_ROW]}
# Reasons that a row of a file gets unless another number is wanted.
_REASONS = 3


class Rows(BaseModel):
    """Rows by the names of their columns; those that the model does not know are ignored."""

    model_config = ConfigDict(extra="forbid")
    rows: list[dict[str, Cell]] = Field(min_length=1)


class Verdict(BaseModel):
    """The verdict on a row. The score is null for a row without a single token."""

    model_config = ConfigDict(extra="allow")
    anomaly_score: float | None
    p_value: float
    is_anomaly: bool
    dismissed_by: int | None = None


class Verdicts(BaseModel):
    """One verdict a row, in the order of the rows; a row is an anomaly above the threshold."""

    model: str
    threshold: float
    rows: list[Verdict]


class Explained(Verdict):
    """A verdict and its reasons."""

    threshold: float
    oddity: str | None = None
    cells: list[dict[str, Any]]
    pieces: list[dict[str, Any]] | None = None
    nearest: list[dict[str, str]] | None = None


class Explanations(BaseModel):
    """One explained row for each row, in their order."""

    model: str
    rows: list[Explained]


Rate = Annotated[float | None, Query(gt=0, lt=1, description="False-alarm rate; unless given, that of the model.")]


def _bodies() -> dict[str, Any]:
    """The bodies a route reads, as its documentation lists them."""
    example = "protocol,service,flag,bytes\nudp,http,SF,2000\n"
    line = '{"protocol": "udp", "service": "http", "flag": "SF", "bytes": 2000}\n'
    text: dict[str, Any] = {"schema": {"type": "string"}}
    return {
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": Rows.model_json_schema(), "example": EXAMPLE},
                CSV: text | {"example": example},
                LINES: text | {"example": line},
                PARQUET: {"schema": {"type": "string", "format": "binary"}},
            },
        }
    }


def _answers(model: type[BaseModel]) -> dict[int | str, dict[str, Any]]:
    files: dict[str, dict[str, Any]] = {CSV: {}, LINES: {}, PARQUET: {}}
    return {200: {"model": model, "content": files}, **answers(400, 404, 408, 409, 413, 415, 422, 429, 503, 507)}


@router.post("/{name}/score", responses=_answers(Verdicts), openapi_extra=_bodies())
async def score(name: ModelName, request: Request, service: TheService, false_alarm_rate: Rate = None) -> Response:
    """Score, p-value and alarm of every row. A file comes back with these columns behind its own."""
    model = await service.model(name)
    if _media_type(request) != JSON:
        return await _scored_file(service, model, request, ScoreOptions(false_alarm_rate=false_alarm_rate))
    records = await _records(service, model, request, RowOptions(false_alarm_rate))
    threshold = model.detector.threshold(false_alarm_rate)
    return _json({"model": name, "threshold": threshold, "rows": records})


@router.post("/{name}/explain", responses=_answers(Explanations), openapi_extra=_bodies())
async def explain(
    name: ModelName,
    request: Request,
    service: TheService,
    false_alarm_rate: Rate = None,
    top: Annotated[int | None, Query(ge=1, le=1000, description="Reasons for each row.")] = None,
    nearest: Annotated[bool, Query(description="And the normal rows nearest to each, by where they differ.")] = False,
) -> Response:
    """As score, and the cells or tokens that are the reasons, with what was expected in their places."""
    model = await service.model(name)
    if _media_type(request) != JSON:
        of_file = ScoreOptions(explain=top or _REASONS, false_alarm_rate=false_alarm_rate)
        return await _scored_file(service, model, request, of_file)
    options = RowOptions(false_alarm_rate, explain=True, top=top, nearest=nearest)
    return _json({"model": name, "rows": await _records(service, model, request, options)})


def _media_type(request: Request) -> str:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != JSON and given not in FORMATS:
        raise Problem(415, f"rows are sent as one of {', '.join((JSON, *FORMATS))}.")
    return given


async def _records(service: Service, model: ServedModel, request: Request, options: RowOptions) -> Records:
    """The answer about the rows of a JSON body."""
    limits = service.limits
    model.detector.threshold(
        options.false_alarm_rate
    )  # a rate that cannot be promised is refused before anything is read
    rows = _parsed(await in_memory(request, limits.body_bytes))
    if len(rows) > limits.json_rows:
        raise TooLarge("rows of a JSON body", limits.json_rows)
    batch = batch_of(rows)
    if batch.num_columns > limits.columns:
        raise TooLarge("columns", limits.columns)
    if not batch.num_columns:
        raise Problem(400, "the rows have no columns.")
    return await answered(request, service.scorer.submit(model, batch, options), limits.answer_seconds)


def _parsed(body: bytes) -> list[dict[str, Any]]:
    try:
        return Rows.model_validate_json(body).rows
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Problem(422, f"{where or 'the body'}: {first['msg']}") from None


async def answered(request: Request, answer: asyncio.Future[Records], seconds: float) -> Records:
    """The answer, unless it takes too long or the client goes away; it is not computed then, if it has not begun."""
    gone: asyncio.Future[Any] = asyncio.ensure_future(_disconnected(request))
    both: set[asyncio.Future[Any]] = {answer, gone}
    try:
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if answer.done():
            return answer.result()
        if gone.done():
            raise Problem(400, "the client went away.")
        raise too_late(seconds)
    finally:
        gone.cancel()
        answer.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _scored_file(service: Service, model: ServedModel, request: Request, options: ScoreOptions) -> Response:
    """The rows of a body, scored by `score_file` and sent back in the same format."""
    limits, media_type = service.limits, _media_type(request)
    format = FORMATS[media_type]
    model.detector.threshold(options.false_alarm_rate)
    scratch = Scratch(service.settings.work / "scratch")
    try:
        rows, out = scratch.path("rows"), scratch.path("scored")
        await to_file(request, rows, limits.body_bytes, limits.unpacked_bytes)
        work = partial(_score_file, service, model, rows, out, format, options)
        await service.bulk.run(work)
    except BaseException:
        scratch.remove()
        raise
    return FileResponse(out, media_type=media_type, background=BackgroundTask(scratch.remove))


def _score_file(
    service: Service, model: ServedModel, rows: Path, out: Path, format: str, options: ScoreOptions
) -> None:
    check_table(rows, format, service.limits)
    reading, writing = ReadOptions(format=format), WriteOptions(format=format)
    summary = score_file(model.detector, str(rows), str(out), options, reading=reading, writing=writing)
    service.metrics.judged(model.name, summary.rows, summary.anomalies)


def _json(content: dict[str, Any]) -> Response:
    """Values that JSON does not know are null."""
    return Response(json_text(content), media_type=JSON)
