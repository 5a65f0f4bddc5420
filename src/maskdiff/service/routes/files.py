"""Files for jobs: uploaded, and shown by how their columns would be read."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from maskdiff.jobs.preview import preview_file
from maskdiff.service.kept.files import StoredFile
from maskdiff.service.requests.bodies import to_file
from maskdiff.service.requests.names import ID, shown_name
from maskdiff.service.requests.problems import answers
from maskdiff.service.requests.security import own_client
from maskdiff.service.requests.tables import check_table, format_of_name
from maskdiff.service.state import Service, TheService

router = APIRouter(prefix="/files", tags=["files"])

FileId = Annotated[str, Path(pattern=ID, description="The id that the upload was answered with.")]
ReadAs = Literal["auto", "category", "number", "date", "text", "drop"]
Columns = Annotated[
    dict[str, ReadAs],
    Field(description="Column -> how to read it; others as they look.", examples=[{"bytes": "category"}]),
]
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary"},
                "example": "pet,says\ncat,meow\ndog,woof\n",
            }
        },
    }
}


class UploadedFile(BaseModel):
    """A file that jobs can use, and how its columns are read by its first rows."""

    id: str
    name: str
    bytes: int
    rows: int | None
    columns: list[dict[str, Any]]
    notes: list[str]


@router.post(
    "",
    status_code=201,
    responses=answers(400, 408, 413, 415, 422, 429, 503, 507),
    dependencies=[Depends(own_client)],
    openapi_extra=_BODY,
)
async def upload(
    request: Request,
    service: TheService,
    name: Annotated[str, Query(max_length=500, description="Its name says its format.", examples=["claims.csv"])],
) -> UploadedFile:
    """Keep a file for jobs: CSV, JSON, JSON Lines, Parquet or a workbook, as it is or packed by gzip."""
    limits, format = service.limits, format_of_name(name)
    service.runner.warm()
    with service.work.files.making() as (id, folder):
        rows = folder / "rows"
        size = await to_file(request, rows, limits.upload_bytes, limits.unpacked_bytes)
        await service.bulk.run(partial(check_table, rows, format, limits))
        file = StoredFile(id, shown_name(name), format, size)
        service.work.files.describe(folder, file)
    try:
        return await _preview(service, file, {})
    except Exception:
        service.work.files.remove(id)
        raise


@router.post("/{id}/preview", responses=answers(400, 404, 422, 429, 503))
async def preview(id: FileId, service: TheService, columns: Annotated[Columns, Body(embed=True)]) -> UploadedFile:
    """How the columns would be read, with these of them read as given."""
    return await _preview(service, service.work.files.get(id), {name: how for name, how in columns.items()})


@router.get("/{id}", responses=answers(400, 404, 422, 429, 503))
async def read_file(id: FileId, service: TheService) -> UploadedFile:
    """A file that was uploaded before."""
    return await _preview(service, service.work.files.get(id), {})


@router.delete("/{id}", status_code=204, responses=answers(404, 422), dependencies=[Depends(own_client)])
async def remove_file(id: FileId, service: TheService) -> Response:
    """Forget a file; results that were made of it stay."""
    await asyncio.to_thread(service.work.files.remove, id)
    return Response(status_code=204)


async def _preview(service: Service, file: StoredFile, columns: dict[str, str]) -> UploadedFile:
    rows = service.work.files.rows(file.id)
    given = {name: how for name, how in columns.items() if how != "auto"}
    found = await service.bulk.run(partial(preview_file, str(rows), columns=given, reading=file.reading))
    notes = [note.replace(str(rows), file.name) for note in found.notes]
    return UploadedFile(
        id=file.id, name=file.name, bytes=file.bytes, rows=found.rows, columns=found.columns, notes=notes
    )
