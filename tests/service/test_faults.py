"""When things break around the service: power, disks, files under its feet."""

from __future__ import annotations

import resource
import socket
import threading
from pathlib import Path

import pytest

from maskdiff import TableDetector, save
from maskdiff.client import Client, ServiceError

from ..conftest import make_connections
from .running import PATIENCE, Running, serving, start, wait_until

ROW = {"protocol": "udp", "service": "http", "flag": "SF", "bytes": 2000}


def test_a_model_that_is_replaced_is_served_anew_and_a_damaged_one_is_refused(server: Running) -> None:
    path = server.folder / "replaced.maskdiff"
    save(TableDetector("kernel").fit(make_connections(200, seed=1)), path)
    with Client(server.url, seconds=PATIENCE) as client:
        first = client.score("replaced", [ROW])
        save(TableDetector("kernel").fit(make_connections(400, seed=2)), path)
        second = client.score("replaced", [ROW])
        assert first[0]["anomaly_score"] != second[0]["anomaly_score"]
        whole = path.read_bytes()
        path.write_bytes(whole[:-100])
        with pytest.raises(ServiceError, match=r"replaced.*damaged") as refused:
            client.score("replaced", [ROW])
        assert refused.value.status == 409
        assert str(server.folder) not in str(refused.value)
        path.write_bytes(whole)
        assert client.score("replaced", [ROW]) == second
        path.unlink()
        with pytest.raises(ServiceError, match="no model called replaced"):
            client.score("replaced", [ROW])


def test_a_service_killed_during_an_upload_leaves_no_file(folder: Path) -> None:
    running = start(folder)
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as sending:
        head = "POST /files?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Maskdiff: 1\r\nContent-Length: 100000\r\n\r\n"
        sending.sendall(head.encode() + b"a,b\n" * 1000)
        wait_until(lambda: list((folder / ".service" / "files").glob(".partial-*/rows")), "the upload")
        running.kill()
    running.stop()
    with serving(folder) as again:
        assert [path for path in (folder / ".service" / "files").iterdir() if not path.name.startswith(".")] == []
        assert again.http.get("/ready").status_code == 200


def test_a_full_disk_refuses_uploads_and_fails_jobs_but_the_service_goes_on(folder: Path) -> None:
    """No file can grow beyond a limit, which is what a full disk looks like to a process."""

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    with serving(folder, preexec_fn=no_room) as running, Client(running.url, seconds=PATIENCE) as client:
        large = make_connections(30_000, seed=1).to_csv(index=False).encode()
        answer = client.http.post("/files", params={"name": "a.csv"}, content=large)
        assert answer.status_code == 507
        assert "full" in answer.json()["error"]
        answer = client.http.post("/models/connections/score", content=large, headers={"Content-Type": "text/csv"})
        assert answer.status_code == 507
        assert [path.name for path in (folder / ".service" / "files").iterdir()] == []
        assert client.score("connections", [ROW])


def test_what_was_accepted_is_answered_before_the_service_ends(folder: Path) -> None:
    running = start(folder)
    rows = make_connections(4000, seed=1).to_dict("records")
    answers: list[int] = []

    def ask() -> None:
        answers.append(running.http.post("/models/connections/score", json={"rows": rows}).status_code)

    running.http.post("/models/connections/score", json={"rows": [ROW]})
    asking = [threading.Thread(target=ask) for _ in range(3)]
    for one in asking:
        one.start()
    wait_until(lambda: "maskdiff_rows_total" in running.http.get("/metrics").text, "the first rows")
    client, running.http = running.http, Client(running.url).http
    status = running.stop()
    for one in asking:
        one.join()
    client.close()
    assert status == 0
    assert answers in ([200] * 3, [200] * len(answers))
    assert "Traceback" not in running.logged()
