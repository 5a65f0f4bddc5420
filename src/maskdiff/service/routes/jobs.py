"""Jobs: work that takes longer than a request. They are started here, watched, and cancelled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from maskdiff.service.background.store import Job
from maskdiff.service.requests.names import ID, MODEL_NAME, new_id
from maskdiff.service.requests.problems import Problem, answers, busy
from maskdiff.service.requests.security import own_client
from maskdiff.service.routes.files import Columns
from maskdiff.service.routes.models import ModelName
from maskdiff.service.state import Service, TheService

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(pattern=ID, description="The id of a job.")]
_LOOK = 0.2
_STARTED: dict[str, Any] = {"status_code": 202, "dependencies": [Depends(own_client)]}
EXAMPLE_ID = "0123456789abcdef0123456789abcdef"
FileOf = Annotated[str, Field(pattern=ID, description="An uploaded file.", examples=[EXAMPLE_ID])]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")


def _shown(**example: Any) -> ConfigDict:
    """What the documentation shows as an example of a body."""
    return ConfigDict(json_schema_extra={"example": example})


class Rows(_Given):
    """Which file, and how its rows are read: a table, or the texts or sequences of one column."""

    file: FileOf
    columns: Columns = {}
    text: str | None = Field(None, max_length=500)
    sequence: str | None = Field(None, max_length=500)
    separator: str | None = Field(None, max_length=10)
    reconstructor: Literal["kernel", "mlp", "transformer", "combined"] | None = None
    steps: int | None = Field(None, ge=1, le=10_000_000)
    seed: int = Field(0, ge=0, le=2**31 - 1)


class FindRequest(Rows):
    """A file whose odd rows nobody knows."""

    model_config = _shown(file=EXAMPLE_ID, reconstructor="kernel")
    false_discovery_rate: float = Field(0.1, gt=0, lt=1)
    contamination: float | None = Field(None, gt=0, lt=0.5)
    group: str | None = Field(None, max_length=500)
    order: str | None = Field(None, max_length=500)


class LearnRequest(Rows):
    """Normal rows to learn a model from; with `label` those that it calls one of `normal`."""

    model_config = _shown(file=EXAMPLE_ID, name="learned", reconstructor="kernel")
    name: str = Field(pattern=MODEL_NAME, examples=["pets"])
    replace: bool = False
    label: str | None = Field(None, max_length=500)
    normal: list[str] = Field([], max_length=100)


class KeepRequest(_Given):
    """The model of a result, to be kept under a name."""

    model_config = _shown(result=EXAMPLE_ID, name="kept")
    result: str = Field(pattern=ID, examples=[EXAMPLE_ID])
    name: str = Field(pattern=MODEL_NAME, examples=["pets"])
    replace: bool = False


class ScoreFileRequest(_Given):
    """A file to be judged by a model."""

    model_config = _shown(file=EXAMPLE_ID, model="connections")
    file: FileOf
    model: str = Field(pattern=MODEL_NAME, examples=["pets"])
    false_alarm_rate: float | None = Field(None, gt=0, lt=1)


class UpdateRequest(_Given):
    """More normal rows for a model."""

    model_config = _shown(file=EXAMPLE_ID)
    file: FileOf
    label: str | None = Field(None, max_length=500)
    normal: list[str] = Field([], max_length=100)


class JobFacts(BaseModel):
    """A job and where it stands: `done` of `total` in its `stage`. `result` names what came out."""

    id: str
    task: Literal["find", "score", "learn", "update"]
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    stage: str
    done: int
    total: int
    loss: float | None
    notes: list[str]
    result: dict[str, Any] | None
    error: str | None
    settings: dict[str, Any]
    created: float
    changed: float


class JobList(BaseModel):
    """All jobs, the newest first."""

    jobs: list[JobFacts]


@router.post("/find", responses=answers(400, 404, 422, 429, 507), **_STARTED)
async def find(given: FindRequest, service: TheService) -> JobFacts:
    """Search the odd rows of a file. The job's result names what `GET /results/{id}` shows."""
    service.work.files.get(given.file)
    return _start(service, "find", given)


@router.post("/models", responses=answers(400, 404, 409, 422, 429, 507), tags=["models"], **_STARTED)
async def learn(given: LearnRequest | KeepRequest, service: TheService) -> JobFacts:
    """Learn a model from normal rows, or keep the one that a search made."""
    if service.work.model(given.name, there=False).exists() and not given.replace:
        raise Problem(409, f"there is a model called {given.name} already; replace it, or take another name.")
    if isinstance(given, KeepRequest):
        service.work.results.path(given.result)
    else:
        service.work.files.get(given.file)
    return _start(service, "learn", given)


@router.post("/results", responses=answers(400, 404, 422, 429, 507), tags=["results"], **_STARTED)
async def score_file(given: ScoreFileRequest, service: TheService) -> JobFacts:
    """Judge all rows of a file by a model. The job's result names what `GET /results/{id}` shows."""
    service.work.files.get(given.file)
    service.models.check_there(given.model)
    return _start(service, "score", given)


@router.post("/models/{name}/update", responses=answers(400, 404, 422, 429, 507), tags=["models"], **_STARTED)
async def update(name: ModelName, given: UpdateRequest, service: TheService) -> JobFacts:
    """Let a model learn on from more normal rows."""
    service.work.files.get(given.file)
    service.models.check_there(name)
    return _start(service, "update", given, model=name)


def _start(service: Service, task: str, given: BaseModel, **more: str) -> JobFacts:
    job = Job(new_id(), task, given.model_dump(exclude_none=True) | more)
    if not service.work.jobs.add(job, service.limits.waiting_jobs):
        raise busy(30)
    service.runner.wake.set()
    return _facts(_found(service, job.id))


@router.get("/jobs", responses=answers())
async def list_jobs(service: TheService) -> JobList:
    """Jobs that wait, run, or ended."""
    return JobList(jobs=[_facts(job) for job in service.work.jobs.all()])


@router.get("/jobs/{id}", responses=answers(404, 422))
async def read_job(id: JobId, service: TheService) -> JobFacts:
    """Where a job stands."""
    return _facts(_found(service, id))


@router.delete("/jobs/{id}", responses=answers(404, 409, 422), dependencies=[Depends(own_client)])
async def cancel(id: JobId, service: TheService) -> JobFacts:
    """End a job; nothing of its work is kept."""
    _found(service, id)
    if not service.runner.cancel(id):
        raise Problem(409, "the job has ended before.")
    return _facts(_found(service, id))


@router.get(
    "/jobs/{id}/events",
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}, **answers(404, 422)},
    response_class=StreamingResponse,
)
async def events(id: JobId, service: TheService) -> StreamingResponse:
    """The job each time it changes, as server-sent events; the stream ends with the job."""
    _found(service, id)
    return StreamingResponse(_events(service, id), media_type="text/event-stream")


async def _events(service: Service, id: str) -> AsyncIterator[str]:
    last = None
    while not service.closing.is_set():
        job = await asyncio.to_thread(service.work.jobs.get, id)
        if job is None:
            return
        if job != last:
            last = job
            yield f"event: job\ndata: {json.dumps(_facts(job).model_dump())}\n\n"
        if job.has_ended:
            return
        await asyncio.sleep(_LOOK)


def _found(service: Service, id: str) -> Job:
    job = service.work.jobs.get(id)
    if job is None:
        raise Problem(404, "there is no such job.")
    return job


def _facts(job: Job) -> JobFacts:
    values = asdict(job)
    del values["attempts"]
    return JobFacts(**values)
