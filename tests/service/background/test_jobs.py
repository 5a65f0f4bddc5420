"""Jobs: started, watched, cancelled, killed; what they leave is whole or not there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maskdiff
from maskdiff.client import Client, JobError, ServiceError

from ...conftest import make_connections
from ..running import Running, serving, wait_until

# Trains for so long that it is surely still running when it is looked at.
ENDLESS = {"reconstructor": "mlp", "steps": 10_000_000}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = make_connections(300, seed=2)
    rows.loc[[17, 40], "service"] = ["gopher", "dns"]
    rows.loc[[17, 40], "bytes"] = [90_000, 99_000]
    rows["day"] = [f"2024-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(300)]
    path = tmp_path_factory.mktemp("tables") / "connections.csv"
    rows.to_csv(path, index=False)
    return path


@pytest.fixture
def client(server: Running) -> Iterator[Client]:
    with Client(server.url, seconds=120) as client:
        yield client


@pytest.fixture(scope="module")
def found(server: Running, table: Path) -> dict[str, Any]:
    """A search that is done."""
    with Client(server.url, seconds=120) as client:
        return client.find(table, reconstructor="kernel")


def test_a_search_ranks_all_rows_and_names_reasons(client: Client, found: dict[str, Any]) -> None:
    rows = client.rows(found["result"]["result"], limit=2)
    odd = next(row for row in rows if row["row"] == 18)
    assert {"service", "bytes"} & {cell["column"] for cell in odd["cells"][:2]}
    assert found["result"]["rows"] == 300


def test_a_model_is_learned_with_progress_as_events_and_scores_as_one_learned_in_python(
    client: Client, table: Path
) -> None:
    seen: list[dict[str, Any]] = []
    client.learn(table, "learned", callback=seen.append, reconstructor="kernel")
    assert (seen[-1]["state"], seen[-1]["result"]) == ("done", {"model": "learned"})
    assert any(one["state"] == "running" for one in seen)
    own = maskdiff.jobs.fit_file(str(table), detector=maskdiff.TableDetector("kernel"))
    few = pd.read_csv(table, dtype=str).head(20)
    found = [row["anomaly_score"] for row in client.score("learned", few.to_dict("records"))]
    np.testing.assert_allclose(found, own.anomaly_score(few), atol=1e-6)
    with pytest.raises(ServiceError, match="already"):
        client.learn(table, "learned", reconstructor="kernel")
    client.delete_model("learned")
    assert "learned" not in [one["name"] for one in client.models()]


def test_the_model_of_a_search_can_be_kept(client: Client, found: dict[str, Any]) -> None:
    given = {"result": found["result"]["result"], "name": "kept"}
    assert client.wait(client.http.post("/models", json=given).json())["result"] == {"model": "kept"}
    row = {"protocol": "tcp", "service": "gopher", "flag": "SF", "bytes": 90_000, "day": "2024-06-18"}
    assert client.score("kept", [row])[0]["is_anomaly"]
    client.delete_model("kept")


def test_rows_are_searched_filtered_sorted_and_cut_into_pages(client: Client, found: dict[str, Any]) -> None:
    id = found["result"]["result"]
    page = client.http.get(f"/results/{id}/rows", params={"search": "gopher"}).json()
    assert (page["matched"], page["of"], page["rows"][0]["row"]) == (1, 300, 18)
    chosen = {"column": "protocol", "contains": "udp", "sort": "bytes", "descending": True, "limit": 5}
    rows = client.rows(id, **chosen)
    place = 3
    sizes = [float(row["values"][place]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert {row["values"][0] for row in rows} == {"udp"}
    pages = [client.rows(id, sort="row", offset=offset, limit=100) for offset in (0, 100, 200)]
    assert [row["row"] for page in pages for row in page] == list(range(1, 301))


def test_a_row_tells_its_whole_story_and_what_would_be(client: Client, found: dict[str, Any]) -> None:
    id = found["result"]["result"]
    story = client.http.get(f"/results/{id}/rows/18").json()
    assert story["model"]["is_anomaly"]
    assert len(story["model"]["cells"]) >= 4
    changed = client.http.post(
        f"/results/{id}/rows/18/what-if", json={"changes": {"service": "http", "bytes": "2000"}}
    ).json()
    assert changed["anomaly_score"] < story["model"]["anomaly_score"]
    unknown = client.http.post(f"/results/{id}/rows/18/what-if", json={"changes": {"colour": "red"}})
    assert unknown.status_code == 404


def test_what_is_judged_fine_is_gone_from_the_alarms(client: Client, found: dict[str, Any]) -> None:
    id = found["result"]["result"]
    done = client.http.post(f"/results/{id}/dismiss", json={"row": 18}).json()
    assert 18 in done["rows"]
    assert 18 not in [row["row"] for row in client.rows(id, shown="alarms", rate=0.2)]
    assert 18 in [row["row"] for row in client.rows(id, shown="fine")]
    assert client.http.get(f"/results/{id}").json()["dismissed"] == len(done["rows"])


def test_a_scored_file_is_a_result_too_and_rules_go_to_its_model(
    client: Client, server: Running, table: Path, connections_model: Path
) -> None:
    (server.folder / "feedback.maskdiff").write_bytes(connections_model.read_bytes())
    file = client.upload(table)["id"]
    job = client.wait(client.http.post("/results", json={"file": file, "model": "feedback"}).json())
    id = job["result"]["result"]
    first = client.rows(id, shown="alarms")[0]
    assert first["cells"]
    facts = client.http.get(f"/results/{id}").json()
    assert {"groups", "drift", "scores"} <= set(facts["sections"]["html"])
    client.http.post(f"/results/{id}/dismiss", json={"row": first["row"], "scope": "same pattern"})
    assert client.model("feedback")["dismissals"]
    said = client.http.delete("/models/feedback/dismissals/1").json()
    assert said["number"] == 1
    assert not client.model("feedback")["dismissals"]


def test_the_selection_can_be_downloaded(client: Client, found: dict[str, Any]) -> None:
    answer = client.http.get(f"/results/{found['result']['result']}/csv", params={"search": "gopher"})
    head, line = answer.text.splitlines()
    assert head.startswith("protocol,service,flag,bytes,day,maskdiff_row")
    assert ",18," in line


def test_an_update_teaches_a_model_new_values(
    client: Client, server: Running, connections_model: Path, tmp_path: Path
) -> None:
    (server.folder / "growing.maskdiff").write_bytes(connections_model.read_bytes())
    more = tmp_path / "more.csv"
    rows = make_connections(60, seed=9)
    rows["service"] = "gopher"
    rows.to_csv(more, index=False)
    job = client.update("growing", more)
    assert job["result"]["update"]["new_values"]["service"] == ["gopher"]


def test_a_job_that_fails_says_why_in_the_words_of_the_library(client: Client, tmp_path: Path) -> None:
    short = tmp_path / "short.csv"
    short.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(JobError, match=r"short\.csv|rows"):
        client.find(short)


def test_a_job_can_be_cancelled(client: Client, server: Running, table: Path) -> None:
    file = client.upload(table)["id"]
    job = client.http.post("/models", json={"file": file, "name": "never", **ENDLESS}).json()
    wait_until(lambda: client.job(job["id"])["state"] == "running", "the job")
    assert client.cancel(job["id"])["state"] == "cancelled"
    with pytest.raises(ServiceError, match="ended before"):
        client.cancel(job["id"])
    wait_until(lambda: not processes_of(server, job["id"]), "the end of the process")
    assert not (server.folder / "never.maskdiff").exists()


def processes_of(server: Running, job: str) -> list[int]:
    """The processes that hold the lock of a job."""
    lock = server.folder / ".service" / "locks" / f"job-{job}"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(os.readlink(handle) == str(lock) for handle in (process / "fd").iterdir()):
                found.append(int(process.name))
    return found


def leftovers(folder: Path) -> list[str]:
    """What stands under a final name: models and results."""
    results = [path.name for path in (folder / ".service" / "results").glob("*") if not path.name.startswith(".")]
    return sorted([path.name for path in folder.glob("*.maskdiff") if path.name != "connections.maskdiff"] + results)


@pytest.mark.parametrize("route", ["/find", "/models"])
def test_a_job_whose_process_is_killed_has_failed_and_leaves_nothing(
    client: Client, server: Running, table: Path, route: str
) -> None:
    file = client.upload(table)["id"]
    before = leftovers(server.folder)
    given = {"file": file, **ENDLESS} | ({"name": "killed"} if route == "/models" else {})
    job = client.http.post(route, json=given).json()
    wait_until(lambda: client.job(job["id"])["stage"] not in ("", "starting"), "training")
    (process,) = processes_of(server, job["id"])
    os.kill(process, signal.SIGKILL)
    ended = wait_until(lambda: (found := client.job(job["id"]))["state"] == "failed" and found, "the failure")
    assert "was ended" in ended["error"]
    assert leftovers(server.folder) == before


def test_two_services_share_a_folder_and_run_each_job_once(client: Client, server: Running, table: Path) -> None:
    with serving(server.folder) as other, Client(other.url, seconds=120) as second:
        file = client.upload(table)["id"]
        given = {"file": file, "reconstructor": "kernel"}
        jobs = [
            one.http.post("/models", json={**given, "name": f"shared{at}"}).json()
            for at, one in enumerate([client, second])
        ]
        for job in jobs:
            assert second.wait(job)["state"] == "done"
            assert client.job(job["id"])["state"] == "done"
        record = [{"protocol": "tcp", "service": "http", "flag": "SF", "bytes": 2000, "day": "2024-01-01"}]
        assert client.score("shared1", record) == second.score("shared1", record)
