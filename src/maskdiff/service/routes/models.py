"""The models in the folder."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from maskdiff.io.jsonl import batch_of
from maskdiff.jobs import undo_dismissal as take_back
from maskdiff.jobs.describe import describe_model, versions
from maskdiff.service.background.locks import locked
from maskdiff.service.kept.feedback import dismiss_batch
from maskdiff.service.requests.names import MODEL_NAME
from maskdiff.service.requests.problems import answers
from maskdiff.service.requests.security import own_client
from maskdiff.service.state import TheService

router = APIRouter(prefix="/models", tags=["models"])

ModelName = Annotated[str, Path(pattern=MODEL_NAME, description="The name of a model.", examples=["claims"])]

EXAMPLE_ROW: dict[str, Any] = {"protocol": "udp", "service": "http", "flag": "SF", "bytes": 2000}


class ModelFile(BaseModel):
    """One model of the folder."""

    name: str = Field(examples=["claims"])
    bytes: int
    modified: str = Field(examples=["2026-05-04T10:00:00+00:00"])


class ModelList(BaseModel):
    """All models of the folder, by name."""

    models: list[ModelFile]


class ModelFacts(BaseModel):
    """What a model holds; `rows`, `drift` and `checks` are about what it judged since the service started."""

    name: str
    columns: list[dict[str, Any]]
    settings: dict[str, Any]
    calibration: dict[str, Any]
    updates: list[dict[str, Any]]
    dismissals: list[dict[str, Any]]
    versions: dict[str, str]
    parts: str = Field(description="What rows are made of: columns, tokens or symbols.")
    rows: int
    drift: dict[str, float]
    checks: list[dict[str, Any]]


@router.get("", responses=answers())
async def list_models(service: TheService) -> ModelList:
    """Name, size and time of each model."""
    return ModelList(models=[ModelFile(**one) for one in service.models.list()])


@router.get("/{name}", responses=answers(404, 409, 422))
async def read_model(name: ModelName, service: TheService) -> ModelFacts:
    """Columns, settings, calibration, updates, rules, versions, and the checks of what was judged so far."""
    model = await service.model(name)
    facts = describe_model(model.detector) | {"versions": versions(model.path)}
    return ModelFacts(
        name=name,
        **facts,
        parts=model.detector.encoder_.parts,
        rows=model.counts.rows,
        drift=model.counts.drift(),
        checks=[check.to_record() for check in model.counts.checks()],
    )


class DismissRequest(BaseModel):
    """Rows that were judged fine, by the names of their columns."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"rows": [EXAMPLE_ROW]}})
    rows: list[dict[str, str | int | float | bool | None]] = Field(min_length=1, max_length=1000)
    scope: Literal["same cells", "same pattern"] = "same cells"


class Dismissed(BaseModel):
    """The rule that is about each row from now on, and whether the row was an alarm."""

    dismissed: list[dict[str, Any]]


@router.post(
    "/{name}/dismiss", responses=answers(400, 404, 409, 413, 422, 429, 503, 507), dependencies=[Depends(own_client)]
)
async def dismiss(name: ModelName, given: DismissRequest, service: TheService) -> Dismissed:
    """Judge rows fine: alarms like theirs do not come back."""
    path, batch = service.models.check_there(name), batch_of(given.rows)
    work = partial(dismiss_batch, service.work, path, f"model-{name}", batch, given.scope)
    return Dismissed(dismissed=await service.bulk.run(work))


@router.delete(
    "/{name}/dismissals/{number}",
    responses=answers(400, 404, 409, 422, 429, 503, 507),
    dependencies=[Depends(own_client)],
)
async def undo_dismissal(
    name: ModelName, number: Annotated[int, Path(ge=1, le=2**31 - 1)], service: TheService
) -> dict[str, Any]:
    """Take a rule back."""
    path = service.models.check_there(name)

    def undo() -> dict[str, Any]:
        with locked(service.work.lock(f"model-{name}")):
            return take_back(path, number).to_record()

    return await service.bulk.run(undo)


@router.delete("/{name}", status_code=204, responses=answers(404, 422), dependencies=[Depends(own_client)])
async def remove_model(name: ModelName, service: TheService) -> Response:
    """Remove a model."""
    path = service.models.check_there(name)
    with locked(service.work.lock(f"model-{name}")):
        path.unlink(missing_ok=True)
    service.models.forget(name)
    return Response(status_code=204)
