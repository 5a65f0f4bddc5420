"""The models in the folder."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from maskdiff.jobs.describe import describe_model, versions
from maskdiff.service.names import MODEL_NAME
from maskdiff.service.problems import answers
from maskdiff.service.state import TheService

router = APIRouter(prefix="/models", tags=["models"])

ModelName = Annotated[str, Path(pattern=MODEL_NAME, description="The name of a model.", examples=["claims"])]


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
