"""Safe by default: who may ask, what names may say, what the page may load, what the log may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from maskdiff.client import Client, ServiceError

from ...cli.running import call
from ..running import PATIENCE, Running, serving

TOKEN = "correct-horse-battery-staple"
ROW = {"protocol": "tcp", "service": "secret-service", "flag": "SF", "bytes": 2000}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, connections_model: Path) -> Iterator[Running]:
    """A server that can be reached from elsewhere, and so has a token."""
    home = tmp_path_factory.mktemp("guarded")
    folder, token = home / "models", home / "token"
    folder.mkdir()
    (folder / "connections.maskdiff").write_bytes(connections_model.read_bytes())
    token.write_text(f"{TOKEN}\n")
    with serving(folder, "--host", "0.0.0.0", "--token-file", str(token)) as running:
        running.url = running.url.replace("0.0.0.0", "127.0.0.1")
        running.http = httpx.Client(base_url=running.url, timeout=PATIENCE)
        yield running


def test_an_address_that_others_reach_needs_a_token(folder: Path) -> None:
    said = call("serve", folder, "--host", "0.0.0.0")
    assert said.is_refusal
    assert "--token-file" in said.err


@pytest.mark.parametrize("token", ["short", "", "two words here, quite long"])
def test_a_token_that_is_easily_guessed_is_refused(folder: Path, tmp_path: Path, token: str) -> None:
    file = tmp_path / "token"
    file.write_text(token)
    assert call("serve", folder, "--token-file", file).is_refusal


def test_without_the_token_nothing_is_answered(guarded: Running) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}):
        answer = guarded.http.get("/models", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_with_the_token_all_is_answered(guarded: Running) -> None:
    with Client(guarded.url, token=TOKEN, seconds=PATIENCE) as client:
        assert [one["name"] for one in client.models()] == ["connections"]
        assert len(client.score("connections", [ROW])) == 1
    with Client(guarded.url, token="wrong" * 5) as client, pytest.raises(ServiceError, match="token"):
        client.models()


def test_the_page_comes_without_a_token_and_holds_no_data(guarded: Running) -> None:
    assert guarded.http.get("/").status_code == 200
    assert guarded.http.get("/page/main.js").status_code == 200
    assert "connections" not in guarded.http.get("/").text


def test_a_name_that_leads_here_from_elsewhere_is_refused(server: Running) -> None:
    """DNS rebinding: a foreign page whose name suddenly stands for this machine."""
    answer = server.http.get("/models", headers={"Host": "evil.example:8000"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(
            ("POST", path)
            for path in ("/files?name=a.csv", "/find", "/models", "/results", "/models/connections/dismiss")
        ),
        ("DELETE", "/models/connections"),
        ("DELETE", "/jobs/" + "0" * 32),
        ("POST", "/models/connections/update"),
        ("POST", "/results/" + "0" * 32 + "/dismiss"),
    ],
)
def test_what_changes_something_needs_a_header_that_foreign_pages_cannot_send(
    server: Running, method: str, path: str
) -> None:
    body = {"file": "0" * 32, "name": "a", "model": "a", "rows": [{"a": 1}], "row": 1}
    answer = httpx.request(method, server.url + path, json=body if method == "POST" else None, timeout=PATIENCE)
    assert answer.status_code in (403, 422)
    if answer.status_code == 403:
        assert "X-Maskdiff" in answer.json()["error"]
    assert (server.folder / "connections.maskdiff").exists()


@pytest.mark.parametrize("name", ["..%2F..%2Fetc%2Fpasswd", ".service", "a%00b", "a.b", "%2e%2e", "a%2Fb", "x" * 101])
def test_no_name_of_a_client_becomes_a_path(server: Running, name: str) -> None:
    assert server.http.get(f"/models/{name}").status_code in (404, 422)
    assert server.http.delete(f"/models/{name}").status_code in (404, 405, 422)
    assert server.http.get(f"/page/{name}").status_code == 404


def test_the_page_may_load_and_send_nothing_elsewhere(server: Running) -> None:
    policy = server.http.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert "frame-ancestors 'none'" in policy
    assert server.http.get("/models").headers["x-content-type-options"] == "nosniff"
    for part in files("maskdiff.service").joinpath("page").iterdir():
        text = part.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|\bon[a-z]+=\"|<script>|eval\(|innerHTML", text), part.name


def test_the_log_holds_no_values_of_cells(server: Running) -> None:
    server.http.post("/models/connections/score", json={"rows": [ROW]})
    server.http.post("/models/connections/score", json={"rows": [{"secret-column": "secret-cell"}]})
    server.http.get("/results/" + "0" * 32 + "/rows", params={"search": "secret-search"})
    assert "/models/connections/score 200" in server.logged()
    assert "secret" not in server.logged()
