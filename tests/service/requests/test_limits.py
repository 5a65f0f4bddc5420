"""Too much, too slow, broken: refused with the right status, and the server goes on."""

from __future__ import annotations

import gzip
import io
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ...conftest import make_connections
from ..running import Running, serving, wait_until

SCORE = "/models/connections/score"
CSV, LINES, PARQUET = "text/csv", "application/x-ndjson", "application/vnd.apache.parquet"
SMALL = {
    "body_bytes": 200_000,
    "upload_bytes": 300_000,
    "unpacked_bytes": 2_000_000,
    "json_rows": 50,
    "rows": 2000,
    "columns": 30,
    "waiting": 2,
    "waiting_jobs": 1,
    "receive_seconds": 1,
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, connections_model: Path) -> Iterator[Running]:
    """A server that accepts little."""
    folder = tmp_path_factory.mktemp("strict") / "models"
    folder.mkdir()
    (folder / "connections.maskdiff").write_bytes(connections_model.read_bytes())
    limits = [part for name, value in SMALL.items() for part in ("--limit", f"{name}={value}")]
    with serving(folder, "--log-values", *limits) as running:
        yield running


def records(n: int) -> list[dict[str, object]]:
    return make_connections(n, seed=3).to_dict("records")


def bomb_of_texts() -> bytes:
    """A few kilobytes of Parquet that stand for a gigabyte: one long text, a thousand times."""
    file = io.BytesIO()
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 1500, pa.int32()), pa.array(["x" * 700_000]))
    pq.write_table(pa.table({"protocol": text}), file, compression="zstd")
    return file.getvalue()


def many_rows() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"protocol": pa.array(["tcp"] * 1_000_000)}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", json.dumps({"rows": records(51)}).encode()),
        ("application/json", json.dumps({"rows": [{f"c{at}": 1 for at in range(31)}]}).encode()),
        ("application/json", b'{"rows": [' + b" " * 300_000 + b"]}"),
        (CSV, make_connections(2500, seed=1).to_csv(index=False).encode()),
        (CSV, b",".join(b"c%d" % at for at in range(40)) + b"\n" + b"1," * 39 + b"1\n"),
        (CSV, gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)),
        (LINES, gzip.compress(b'{"a": "' + b"x" * 3_000_000 + b'"}\n')),
        (PARQUET, many_rows()),
        (PARQUET, bomb_of_texts()),
    ],
    ids=["rows", "columns", "bytes", "lines", "wide", "gzip-csv", "gzip-lines", "parquet-rows", "parquet-texts"],
)
def test_too_much_is_refused(strict: Running, media_type: str, body: bytes) -> None:
    answer = strict.http.post(SCORE, content=body, headers={"Content-Type": media_type})
    assert answer.status_code == 413, answer.text
    assert "accepted" in answer.json()["error"] or "large" in answer.json()["error"]


def test_a_body_without_a_stated_length_is_bounded_too(strict: Running) -> None:
    def parts() -> Iterator[bytes]:
        yield b"protocol,service,flag,bytes\n"
        for _ in range(100):
            yield b"tcp,http,SF,2000\n" * 400

    answer = strict.http.post(SCORE, content=parts(), headers={"Content-Type": CSV})
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("media_type", "body", "status"),
    [
        ("application/json", b"", 422),
        ("application/json", b"{", 422),
        ("application/json", b"[]", 422),
        ("application/json", b'{"rows": []}', 422),
        ("application/json", b'{"rows": [{}]}', 400),
        ("application/json", b'{"rows": [{"a": NaN}]}', 400),
        ("application/json", b'{"rows": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 422),
        ("application/json", b'{"rows": [{"protocol": "tcp"}]}', 400),
        ("application/json", b"\xff\xfe", 422),
        (CSV, b"", 400),
        (CSV, b"\x00\x01\x02", 400),
        (CSV, b'a,b\n"1,2\n3,4,5,6\n', 400),
        (CSV, gzip.compress(b"a,b\n1,2\n")[:-6], 400),
        (CSV, gzip.compress(gzip.compress(b"a,b\n1,2\n")), 400),
        (LINES, b"[1, 2]\n", 400),
        (PARQUET, b"PAR1nothingPAR1", 400),
        (PARQUET, b"a,b\n1,2\n", 400),
        ("application/xml", b"<a/>", 415),
        ("", b"a", 415),
    ],
    # Not the bodies: one that is packed holds the time, and workers have to name tests alike.
    ids=lambda value: "body" if isinstance(value, bytes) else str(value),
)
def test_what_is_broken_is_refused(strict: Running, media_type: str, body: bytes, status: int) -> None:
    answer = strict.http.post(SCORE, content=body, headers={"Content-Type": media_type})
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]


def test_an_encoding_that_is_not_read_is_refused(strict: Running) -> None:
    headers = {"Content-Type": CSV, "Content-Encoding": "br"}
    assert strict.http.post(SCORE, content=b"a", headers=headers).status_code == 415


def test_a_packed_body_is_unpacked(strict: Running) -> None:
    rows = make_connections(5, seed=1)
    answer = strict.http.post(
        SCORE, content=gzip.compress(rows.to_csv(index=False).encode()), headers={"Content-Type": CSV}
    )
    assert len(pd.read_csv(io.BytesIO(answer.content))) == 5


def test_uploads_are_bounded_and_known_by_their_names(strict: Running) -> None:
    def send(name: str, body: bytes) -> int:
        return strict.http.post("/files", params={"name": name}, content=body).status_code

    assert send("a.csv", b"a,b\n" + b"1,2\n" * 100_000) == 413
    assert send("a.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)) == 413
    assert send("a.exe", b"MZ") == 415
    assert send("a.duckdb", b"x") == 415
    assert send("a.xlsx", b"PK\x03\x04broken") == 400
    assert send("../../a.csv", b"a,b\n1,2\n3,4\n") == 201
    left = [path for path in (strict.folder / ".service" / "files").iterdir() if path.name.startswith(".")]
    assert left == []


def test_when_too_many_wait_more_are_refused_with_a_time_to_try_again(strict: Running) -> None:
    body = {"rows": records(50)}

    def ask(_: int) -> tuple[int, str | None]:
        answer = strict.http.post("/models/connections/explain", params={"nearest": True}, json=body)
        return answer.status_code, answer.headers.get("retry-after")

    with ThreadPoolExecutor(24) as pool:
        found = list(pool.map(ask, range(72)))
    assert {status for status, _ in found} == {200, 429}
    assert all(after == "1" for status, after in found if status == 429)


def test_when_too_many_jobs_wait_more_are_refused(strict: Running) -> None:
    file = strict.http.post("/files", params={"name": "a.csv"}, content=b"a,b\n" + b"1,2\n3,4\n" * 60).json()["id"]
    given = {"file": file, "reconstructor": "mlp", "steps": 10_000_000}
    answers = [strict.http.post("/models", json={**given, "name": f"m{at}"}) for at in range(6)]
    assert answers[-1].status_code == 429
    assert answers[-1].headers["retry-after"]
    for answer in answers:
        if answer.status_code == 202:
            strict.http.delete(f"/jobs/{answer.json()['id']}")


def connected(server: Running, head: str) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    made.sendall(head.replace("\n", "\r\n").encode())
    return made


HEAD = "POST {path} HTTP/1.1\nHost: 127.0.0.1\nContent-Type: {type}\nX-Maskdiff: 1\nContent-Length: {n}\n\n"


@pytest.mark.parametrize("path", [SCORE, "/files?name=a.csv"])
def test_a_client_that_sends_too_slowly_is_not_waited_for(strict: Running, path: str) -> None:
    with connected(strict, HEAD.format(path=path, type="text/csv", n=1000)) as slow:
        slow.sendall(b"a,b\n")
        assert b" 408 " in slow.recv(100)
    assert strict.http.get("/health").status_code == 200


@pytest.mark.parametrize("first", ["", "GET /health HTTP/1.1\n", "GET /health HTTP/1.1\nHost: 127.0.0.1\n\n"])
def test_headers_that_come_byte_by_byte_are_not_waited_for(strict: Running, first: str) -> None:
    """On a new connection, and on one that was answered before."""
    with connected(strict, first) as slow:
        slow.settimeout(0.1)
        said = b""
        for byte in b"GET /health HTTP/1.1\r\nX-Slow: " + b"a" * 1000:
            with suppress(TimeoutError, ConnectionError):
                slow.sendall(bytes([byte]))
                said += (part := slow.recv(1000))
                if not part:
                    break
        assert b"HTTP/1.1 408 " in said
    assert strict.http.get("/health").status_code == 200


@pytest.mark.parametrize("path", [SCORE, "/files?name=a.csv", "/find"])
def test_clients_that_go_away_in_the_middle_leave_nothing(strict: Running, path: str) -> None:
    for _ in range(5):
        gone = connected(strict, HEAD.format(path=path, type="application/json", n=1000))
        gone.sendall(b'{"rows": [')
        gone.close()
    assert strict.http.post(SCORE, json={"rows": records(1)}).status_code == 200
    files = strict.folder / ".service" / "files"
    wait_until(lambda: not list(files.glob(".*")), "the end of the uploads whose clients are gone")
    assert "Traceback" not in strict.logged()


def test_a_client_that_reads_slowly_gets_all_of_it(strict: Running) -> None:
    body = make_connections(1500, seed=1).to_csv(index=False).encode()
    head = HEAD.format(path=SCORE, type="text/csv", n=len(body)).replace("X-Maskdiff", "Connection: close\nX-Maskdiff")
    with connected(strict, head) as slow:
        slow.sendall(body)
        found = b""
        while part := slow.recv(1024):
            found += part
    assert found.count(b"\n") > 1500


def test_all_that_was_refused_is_documented(strict: Running) -> None:
    listed = strict.http.get("/openapi.json").json()["paths"]["/models/{name}/score"]["post"]["responses"]
    assert {"200", "400", "401", "403", "404", "408", "409", "413", "415", "422", "429", "503", "507"} <= set(listed)


def test_the_log_holds_values_if_asked(strict: Running) -> None:
    strict.http.get("/results/" + "0" * 32 + "/rows", params={"search": "secret-search"})
    wait_until(lambda: "secret-search" in strict.logged(), "the line of the log, which is written after the answer")
