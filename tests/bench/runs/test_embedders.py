"""Embeddings from a function, from a folder, and from a service, which here is a real one on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskdiff.bench.runs.embedders import Embedder, Endpoint, Folder, as_embedder
from maskdiff.errors import InputError, SettingError


def letters(texts: Sequence[str]) -> np.ndarray:
    """How often each of four letters occurs."""
    return np.array([[text.count(letter) for letter in "abcd"] for text in texts], dtype=np.float32)


class Service(BaseHTTPRequestHandler):
    """Counts letters, as OpenAI's protocol wants it; `answers` are given first, as (status, body)."""

    answers: list[tuple[int, str]]
    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
        found = [{"index": i, "embedding": v.tolist()} for i, v in enumerate(letters(body["input"]))]
        status, body = self.answers.pop(0) if self.answers else (200, json.dumps({"data": found[::-1]}))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *message: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[ThreadingHTTPServer]:
    class Own(Service):
        answers: list[tuple[int, str]] = []  # noqa: RUF012
        requests: list[dict[str, Any]] = []  # noqa: RUF012

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def endpoint_of(server: ThreadingHTTPServer) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{server.server_port}/v1", "letters", tries=3, pause=0.001)


def test_any_function_will_do_and_a_text_is_embedded_once() -> None:
    requests: list[str] = []

    def remember(texts: Sequence[str]) -> np.ndarray:
        requests.extend(texts)
        return letters(texts)

    embedder = as_embedder(remember)
    assert embedder.name == "remember"
    np.testing.assert_array_equal(embedder.vectors(["ab", "b", "ab"]), letters(["ab", "b", "ab"]))
    np.testing.assert_array_equal(embedder.vectors(["b", "cc"]), letters(["b", "cc"]))
    assert requests == ["ab", "b", "cc"]


@pytest.mark.parametrize(
    "wrong", [lambda t: letters(t)[:-1], lambda t: letters(t)[:, 0], lambda t: letters(t) * np.nan]
)
def test_an_embedder_that_gives_something_else_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="one vector of finite numbers per text"):
        Embedder("wrong", wrong).vectors(["a", "b"])


def test_a_service_is_called_in_its_protocol(service: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LETTERS_KEY", "sesame")
    embedder = as_embedder(endpoint_of(service).url, model="letters")
    assert embedder.name == "letters"
    np.testing.assert_array_equal(embedder.vectors(["abba", "", "d"]), letters(["abba", "", "d"]))
    replace(endpoint_of(service), key_variable="LETTERS_KEY")(["c"])
    first, second = service.RequestHandlerClass.requests  # type: ignore[attr-defined]
    assert (first["path"], first["model"], first["input"]) == ("/v1/embeddings", "letters", ["abba", " ", "d"])
    assert second["key"] == "Bearer sesame"


def test_a_busy_service_is_called_again(service: ThreadingHTTPServer) -> None:
    service.RequestHandlerClass.answers.extend([(429, "slowly"), (503, "")])  # type: ignore[attr-defined]
    np.testing.assert_array_equal(endpoint_of(service)(["ab"]), letters(["ab"]))
    assert len(service.RequestHandlerClass.requests) == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([(401, "wrong key")], "answered 401: wrong key"),
        ([(429, "slowly")] * 3, "answered 429: slowly"),
        ([(200, "hello")], "did not answer with JSON"),
        ([(200, '{"error": "no"}')], "answered without embeddings"),
    ],
)
def test_what_a_service_refuses_is_named(
    service: ThreadingHTTPServer, answers: list[tuple[int, str]], message: str
) -> None:
    service.RequestHandlerClass.answers.extend(answers)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=message):
        endpoint_of(service)(["ab"])


def test_a_service_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="cannot be reached"):
        Endpoint("http://127.0.0.1:1/v1", "letters", tries=2, pause=0.001)(["ab"])


def test_the_embedder_of_a_folder_gives_vectors_of_length_one_that_no_neighbour_changes(tiny_embedder: Path) -> None:
    embedder = as_embedder(tiny_embedder, device="cpu")
    assert isinstance(embedder.embed, Folder)
    together = embedder.vectors(["see you at nine", "call me", "see you at ten"])
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    alone = Folder(str(tiny_embedder), "cpu")(["call me"])
    np.testing.assert_allclose(together[1:2], alone, atol=1e-5)
    assert np.abs(together[0] - together[2]).max() > 1e-3


def test_what_is_no_embedder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="neither a folder with an embedder nor a URL"):
        as_embedder(tmp_path / "nothing")
    with pytest.raises(SettingError, match="name a model"):
        as_embedder("http://localhost/v1")
