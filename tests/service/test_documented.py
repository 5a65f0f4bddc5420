"""The OpenAPI document: its examples work, and whatever else is sent gets an answer that it lists."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from maskdiff.client import Client

from ..conftest import make_connections
from .running import OWN, PATIENCE, Running

WANTED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.fixture(scope="module")
def document(server: Running) -> dict[str, Any]:
    found: dict[str, Any] = server.http.get("/openapi.json").json()
    return found


def bodies(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, media type and documentation of every body."""
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                yield path, media_type, content


def examples_of(content: dict[str, Any], document: dict[str, Any]) -> Iterator[Any]:
    """The examples of a body, one of each form that it may have."""
    if "example" in content:
        yield content["example"]
        return
    for schema in content["schema"].get("anyOf", [content["schema"]]):
        form = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
        shown = {name: one["examples"][0] for name, one in form.get("properties", {}).items() if "examples" in one}
        if form:
            yield form.get("example", shown)


def test_every_example_of_a_body_works(
    server: Running, document: dict[str, Any], connections_model: Path, tmp_path: Path
) -> None:
    """Each is sent as it is, with the ids of a file and of a result that are there; jobs are waited for."""
    rows = tmp_path / "connections.csv"
    make_connections(200, seed=4).to_csv(rows, index=False)
    for name in ("changed", "judging"):  # other tests ask the model that the server has
        shutil.copy(connections_model, server.folder / f"{name}.maskdiff")
    with Client(server.url, seconds=PATIENCE) as client:
        file = client.upload(rows)["id"]
        judged = client.wait(client.http.post("/results", json={"file": file, "model": "judging"}).json())
        ids = {"file": file, "result": judged["result"]["result"]}

        def send(path: str, media_type: str, example: Any) -> None:
            id = ids["file" if path.startswith("/files") else "result"]
            address = path.replace("{name}", "changed").replace("{row}", "1").replace("{id}", id)
            body = example
            if media_type == "application/json":
                body = json.dumps({name: ids.get(name, value) for name, value in example.items()})
            params = {"name": "pets.csv"} if path == "/files" else {}
            answer = client.http.post(address, params=params, content=body, headers={"Content-Type": media_type})
            assert answer.is_success, (path, media_type, answer.text)
            if answer.status_code == 202:
                client.wait(answer.json())

        sent = [
            (path, send(path, media_type, example))
            for path, media_type, content in bodies(document)
            for example in examples_of(content, document)
        ]
        for name in ("changed", "judging", "learned", "kept"):
            client.delete_model(name)
    found = Counter(path for path, _ in sent)
    assert set(found) == {path for path, _, _ in bodies(document)}
    assert (found["/models/{name}/score"], found["/models"]) == (3, 2)


def test_no_request_gets_an_answer_that_is_not_documented(server: Running) -> None:
    config = SchemathesisConfig()
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", config=config)
    checks = [check for check in CHECKS.get_all() if check.__name__ in WANTED]
    assert len(checks) == len(WANTED)
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):
            continue

        @settings(
            max_examples=8,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            answer = case.call(headers=OWN)
            case.validate_response(answer, checks=checks)

        ask()
        tried += 1
    assert tried > 20
