"""The OpenAPI document: its examples work, and whatever else is sent gets an answer that it lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from .running import OWN, Running

WANTED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)
ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def document(server: Running) -> dict[str, Any]:
    found: dict[str, Any] = server.http.get("/openapi.json").json()
    return found


def test_every_example_of_a_body_works(server: Running, document: dict[str, Any]) -> None:
    pets = b"pet,says\n" + b"cat,meow\n" * 30
    file = server.http.post("/files", params={"name": "pets.csv"}, content=pets).json()["id"]
    sent = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if "example" not in content or "{id}" in path or "dismiss" in path:
                    continue
                example = content["example"]
                body = example if isinstance(example, str) else json.dumps(example).replace(ID, file)
                answer = server.http.request(
                    method,
                    path.replace("{name}", "connections"),
                    params={"name": "pets.csv"} if path == "/files" else {},
                    content=body,
                    headers={"Content-Type": media_type},
                )
                assert answer.is_success, (path, media_type, answer.text)
                sent.append((path, media_type))
    assert {path for path, _ in sent} >= {"/models/{name}/score", "/models/{name}/explain", "/files"}
    assert len([path for path, _ in sent if path == "/models/{name}/score"]) == 3


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
