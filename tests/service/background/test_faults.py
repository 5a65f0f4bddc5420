"""When things break around the service: power, disks, files under its feet."""

from __future__ import annotations

import resource
import socket
import threading
from pathlib import Path

import pytest

from maskdiff import TableDetector, save
from maskdiff.client import Client, JobError, ServiceError
from maskdiff.service.kept.workspace import Workspace

from ...conftest import make_connections
from ..running import PATIENCE, Running, serving, start, wait_until

UPLOAD = "POST /files?name=a.csv HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Maskdiff: 1\r\nContent-Length: 100000\r\n\r\n"
# Bytes that a file may have where there is hardly any room: enough for an upload and for the list of jobs.
ROOM = 30_000
ROW = {"protocol": "udp", "service": "http", "flag": "SF", "bytes": 2000}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "connections.csv"
    make_connections(300, seed=5).to_csv(path, index=False)
    return path


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


def test_a_killed_service_leaves_nothing_half_done_and_goes_on_when_it_starts_again(folder: Path, table: Path) -> None:
    """A job and an upload are under way when the power goes; then a service is asked to end in the middle of work."""
    files = folder / ".service" / "files"
    first = start(folder)
    with Client(first.url, seconds=PATIENCE) as client:
        file = client.upload(table)["id"]
        given = {"file": file, "name": "resumed", "reconstructor": "mlp", "steps": 400}
        job = client.http.post("/models", json=given).json()
        with socket.create_connection(("127.0.0.1", first.port), timeout=30) as sending:
            sending.sendall(UPLOAD.encode() + b"a,b\n" * 1000)
            wait_until(lambda: list(files.glob(".partial-*/rows")), "the upload")
            wait_until(lambda: client.job(job["id"])["stage"] not in ("", "starting"), "training")
            first.kill()
    first.stop()
    assert [path.name for path in folder.glob("*.maskdiff")] == ["connections.maskdiff"]
    assert [path.name for path in files.iterdir() if not path.name.startswith(".")] == [file]

    second = start(folder)
    with Client(second.url, seconds=PATIENCE) as client:
        assert client.wait(job)["state"] == "done"
        assert [one["name"] for one in client.models()] == ["connections", "resumed"]
        endless = {"file": file, "name": "later", "reconstructor": "mlp", "steps": 10_000_000}
        later = client.http.post("/models", json=endless).json()
        wait_until(lambda: client.job(later["id"])["state"] == "running", "the job")
        rows = make_connections(4000, seed=1).to_dict("records")
        answers: list[int] = []

        def ask() -> None:
            answers.append(client.http.post("/models/connections/score", json={"rows": rows}).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        wait_until(lambda: second.http.get("/metrics").text.count('route="/metrics"'), "the request")
        status = second.stop()
        asking.join()
    assert (status, answers) == (0, [200])
    assert "Traceback" not in second.logged()
    assert Workspace(folder).jobs.get(later["id"]).state == "waiting"  # it goes on when a service starts again
    assert not (folder / "later.maskdiff").exists()


def test_a_full_disk_refuses_uploads_and_fails_jobs_but_the_service_goes_on(folder: Path, tmp_path: Path) -> None:
    """No file can grow beyond a limit, which is what a full disk looks like to a process."""

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))

    model, rows = folder / "connections.maskdiff", tmp_path / "connections.parquet"
    save(TableDetector("kernel").fit(make_connections(4000, seed=1)), model)
    make_connections(2000, seed=2).to_parquet(rows)
    before = model.read_bytes()
    asked: list[tuple[str, dict[str, str]]] = [
        ("/find", {"reconstructor": "kernel"}),
        ("/models", {"reconstructor": "kernel", "name": "never"}),
        ("/models/connections/update", {}),
        ("/results", {"model": "connections"}),
    ]
    with serving(folder, preexec_fn=no_room) as running, Client(running.url, seconds=PATIENCE) as client:
        large = make_connections(30_000, seed=1).to_csv(index=False).encode()
        answer = client.http.post("/files", params={"name": "a.csv"}, content=large)
        assert answer.status_code == 507
        assert "full" in answer.json()["error"]
        answer = client.http.post("/models/connections/score", content=large, headers={"Content-Type": "text/csv"})
        assert answer.status_code == 507
        assert [path.name for path in (folder / ".service" / "files").iterdir()] == []

        file = client.upload(rows)["id"]
        for route, given in asked:
            job = client.http.post(route, json={"file": file, **given}).json()
            with pytest.raises(JobError, match="the disk is full; nothing was kept"):
                client.wait(job)
        assert client.score("connections", [ROW])
    assert sorted(path.name for path in folder.iterdir()) == [".service", "connections.maskdiff"]
    assert model.read_bytes() == before
    assert list((folder / ".service" / "results").iterdir()) == []
    assert list((folder / ".service").glob("checkpoints/*")) == []
