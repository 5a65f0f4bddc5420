"""Results of jobs: rows with their reasons, the story of one row, what would be if a cell were another, feedback."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from maskdiff.io.base import WriteOptions
from maskdiff.io.formats import open_writer
from maskdiff.io.jsonl import json_text
from maskdiff.jobs.verdict_columns import VERDICT
from maskdiff.service.background.tasks import PREFIX
from maskdiff.service.bulk import Scratch
from maskdiff.service.kept.feedback import dismiss_in_result
from maskdiff.service.kept.models import ServedModel
from maskdiff.service.kept.results import Choice, Result
from maskdiff.service.requests.names import ID
from maskdiff.service.requests.problems import Problem, answers
from maskdiff.service.requests.security import own_client
from maskdiff.service.requests.tables import CSV, JSON
from maskdiff.service.routes.scoring import answered
from maskdiff.service.scoring import Records, RowOptions
from maskdiff.service.state import Service, TheService

router = APIRouter(prefix="/results", tags=["results"])

ResultId = Annotated[str, Path(pattern=ID, description="The id of a result.")]
RowNumber = Annotated[int, Path(ge=1, le=2**53, description="The number of a row in its file, from 1.")]
# The false-alarm rates whose numbers of alarms are given.
_RATES = np.unique(np.round(np.geomspace(1e-4, 0.2, 67), 6))
_SOON = 30.0
_MOST_EXPLAINED = 100


class ResultList(BaseModel):
    """All results, the newest first; one that nobody looks at for `keep_days` is removed."""

    results: list[dict[str, Any]]
    keep_days: int


class WhatIf(BaseModel):
    """Cells of a row by their columns, as they might have been."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"changes": {"service": "dns"}}})
    changes: dict[str, str | None] = Field({}, max_length=2000)


class Fine(BaseModel):
    """A row that was judged fine: alone (`same cells`), or with all of its like (`same pattern`)."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"row": 1}})
    row: int = Field(ge=1, le=2**53)
    scope: Literal["same cells", "same pattern"] = "same cells"


async def _choice(
    shown: Literal["all", "alarms", "fine"] = "all",
    rate: Annotated[float | None, Query(gt=0, lt=1)] = None,
    search: Annotated[str, Query(max_length=200)] = "",
    column: Annotated[str | None, Query(max_length=500)] = None,
    contains: Annotated[str, Query(max_length=200)] = "",
    odd: Annotated[str | None, Query(max_length=500)] = None,
    group: Annotated[int | None, Query(ge=0, le=10_000)] = None,
    sort: Annotated[str, Query(max_length=500)] = "rank",
    descending: bool = False,
) -> Choice:
    return Choice(shown, rate, search, column, contains, odd, group, sort, descending)


Chosen = Annotated[Choice, Depends(_choice)]
_JSON: dict[int | str, dict[str, Any]] = {200: {"content": {JSON: {"schema": {"type": "object"}}}}}


@router.get("", responses=answers())
async def list_results(service: TheService) -> ResultList:
    """What jobs found."""
    results = await asyncio.to_thread(service.results.all)
    return ResultList(results=results, keep_days=service.limits.keep_days)


@router.get("/{id}", responses={**_JSON, **answers(404, 422)}, response_class=Response)
async def read_result(id: ResultId, service: TheService) -> Response:
    """All about a result but its rows: columns, sections of the report, alarms at each false-alarm rate."""
    result = await asyncio.to_thread(service.results.get, id)
    listed = result.p_value[~result.dismissed]
    rates = [rate for rate in _RATES.tolist() if rate >= result.sections["finest_rate"]]
    return _json(
        {
            **result.facts,
            "id": id,
            "columns": result.names,
            "sections": {name: value for name, value in result.sections.items() if name != "group_rows"},
            "dismissed": int(result.dismissed.sum()),
            "rates": [[rate, int((listed <= rate).sum())] for rate in rates],
            "found": int((result.is_anomaly & ~result.dismissed).sum()),
        }
    )


@router.delete("/{id}", status_code=204, responses=answers(404, 422), dependencies=[Depends(own_client)])
async def remove_result(id: ResultId, service: TheService) -> Response:
    """Forget a result."""
    await asyncio.to_thread(service.work.results.remove, id)
    return Response(status_code=204)


@router.get("/{id}/rows", responses={**_JSON, **answers(400, 404, 422, 429, 503)}, response_class=Response)
async def read_rows(
    id: ResultId,
    request: Request,
    service: TheService,
    choice: Chosen,
    offset: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST_EXPLAINED)] = 25,
) -> Response:
    """Some of the rows that fit, each with its reasons."""
    result = await asyncio.to_thread(service.results.get, id)
    places = await asyncio.to_thread(result.choose, choice)
    shown = places[offset : offset + limit]
    records = result.records(shown)
    bare = [at for at, record in enumerate(records) if record["cells"] is None]
    if bare:
        options = RowOptions(explain=True, top=8)
        explained = await _explained(service, id, result, request, result.batch(shown[bare]), options)
        for at, one in zip(bare, explained, strict=True):
            records[at] |= {"cells": one["cells"], "pieces": one.get("pieces")}
    return _json({"matched": len(places), "of": len(result.table), "offset": offset, "rows": records})


@router.get("/{id}/rows/{row}", responses={**_JSON, **answers(400, 404, 422, 429, 503)}, response_class=Response)
async def read_row(id: ResultId, row: RowNumber, request: Request, service: TheService) -> Response:
    """The whole story of a row: every cell, what was expected there, the nearest normal rows."""
    result = await asyncio.to_thread(service.results.get, id)
    place = _place(result, row)
    (record,) = result.records(place)
    options = RowOptions(explain=True, nearest=True)
    (explained,) = await _explained(service, id, result, request, result.batch(place), options)
    return _json(record | {"model": explained, "cells": record["cells"] or explained["cells"]})


@router.post(
    "/{id}/rows/{row}/what-if", responses={**_JSON, **answers(400, 404, 422, 429, 503)}, response_class=Response
)
async def what_if(id: ResultId, row: RowNumber, given: WhatIf, request: Request, service: TheService) -> Response:
    """The verdict on a row if some of its cells were others."""
    result = await asyncio.to_thread(service.results.get, id)
    batch = result.batch(_place(result, row))
    for name, text in given.changes.items():
        if name not in result.names:
            raise Problem(404, f"the rows have no column {name!r}.")
        at = result.names.index(name)
        batch = batch.set_column(at, name, pa.array([text], pa.string()))
    (explained,) = await _explained(service, id, result, request, batch, RowOptions(explain=True))
    return _json(explained)


@router.post(
    "/{id}/dismiss",
    responses={**_JSON, **answers(400, 404, 409, 422, 429, 503, 507)},
    response_class=Response,
    dependencies=[Depends(own_client)],
)
async def dismiss(id: ResultId, given: Fine, service: TheService) -> Response:
    """Judge a row fine, alone or with its like: a rule in the model, and the rows it is about are no alarms here."""
    result = await asyncio.to_thread(service.results.get, id)
    _place(result, given.row)
    work = partial(dismiss_in_result, service.work, id, result, given.row, given.scope)
    done = await service.bulk.run(work)
    await asyncio.to_thread(service.results.dismiss, id, done["rows"])
    return _json(done)


@router.get(
    "/{id}/csv",
    responses={200: {"content": {CSV: {"schema": {"type": "string"}}}}, **answers(400, 404, 422, 429, 503, 507)},
    response_class=FileResponse,
)
async def download(id: ResultId, service: TheService, choice: Chosen) -> FileResponse:
    """The rows that fit as CSV, in their order, safe to be opened by a spreadsheet."""
    result = await asyncio.to_thread(service.results.get, id)
    scratch = Scratch(service.settings.work / "scratch")
    try:
        out = scratch.path("rows.csv")
        await service.bulk.run(partial(_write, result, choice, str(out)))
    except BaseException:
        scratch.remove()
        raise
    name = "rows.csv"
    return FileResponse(out, media_type=CSV, filename=name, background=BackgroundTask(scratch.remove))


def _write(result: Result, choice: Choice, out: str) -> None:
    rows = result.table.take(pa.array(result.choose(choice))).combine_chunks()
    reasons = [f"reason_{rank}" for rank in (1, 2, 3)]
    added = [PREFIX + name for name in ("row", *(name for name, _ in VERDICT), "oddity", *reasons)]
    rows = rows.select([*result.names, *(name for name in added if name in rows.schema.names)])
    if f"{PREFIX}row" not in rows.schema.names:
        numbers = pa.array(result.number[result.choose(choice)])
        rows = rows.add_column(len(result.names), f"{PREFIX}row", numbers)
    with open_writer(out, rows.schema, WriteOptions(safe_for_spreadsheets=True)) as write:
        for batch in rows.to_batches():
            write(batch)


def _place(result: Result, row: int) -> Any:
    if row not in result.place_of:
        raise Problem(404, f"there is no row {row}.")
    return np.array([result.place_of[row]])


async def _explained(
    service: Service, id: str, result: Result, request: Request, batch: pa.RecordBatch, options: RowOptions
) -> Records:
    """What the model of a result says about rows."""
    model: ServedModel = await service.models.get_file(f"result {id}", result.folder / "model.maskdiff")
    return await answered(request, service.scorer.submit(model, batch, options), _SOON)


def _json(content: Any) -> Response:
    """Values that JSON does not know are null."""
    return Response(json_text(content), media_type=JSON)
