"""Everyone can use the page: axe-core finds nothing to complain about, in any view, light or dark, wide or narrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from maskdiff.client import Client, JobError, ServiceError

from ..running import Running, wait_until
from .conftest import PHONE, WIDE

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


def complaints(page: Any) -> list[str]:
    """What axe-core found, and where, as the page is shown by day and by night; nothing on it fades from one colour
    to the other, and to load it takes longer than to look at it.
    """
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found, grounds = [], set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        found += [f"{scheme}, {one['id']}: {one['nodes'][0]['html'][:200]}" for one in page.evaluate(RUN)]
    assert len(grounds) == 2
    return found


@pytest.fixture(autouse=True)
def _axe() -> None:
    if not AXE.exists() or not AXE.stat().st_size:
        pytest.skip("axe-core is not installed: make browser")


@pytest.fixture(scope="module")
def failed_job(server: Running, table: Path) -> str:
    """The id of a job that could not do its work."""
    with Client(server.url, seconds=120) as client:
        file = client.upload(table)["id"]
        job = client.http.post("/models", json={"file": file, "name": "never", "label": "no such column"}).json()
        with pytest.raises(JobError):
            client.wait(job)
        return str(job["id"])


@contextmanager
def running_job(server: Running, table: Path) -> Iterator[str]:
    """The id of a job that runs for as long as it is looked at."""
    with Client(server.url, seconds=120) as client:
        given = {"file": client.upload(table)["id"], "name": "access", "replace": True, "reconstructor": "mlp"}
        job = client.http.post("/models", json={**given, "steps": 10_000_000}).json()
        wait_until(lambda: client.job(job["id"])["done"], "training")
        yield str(job["id"])
        with suppress(ServiceError):  # it may have ended
            client.cancel(job["id"])
        with suppress(ServiceError):
            client.delete_model("access")


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
def test_no_view_keeps_anyone_out(
    visit: Any,
    server: Running,
    table: Path,
    result: str,
    failed_job: str,
    screen: dict[str, int],
) -> None:
    pets = b"pet,says\n" + b"cat,meow\n" * 30
    file = server.http.post("/files", params={"name": "pets.csv"}, content=pets).json()["id"]
    shown = f"result/{result}"
    views = ["", f"file/{file}", f"{shown}?shown=alarms", f"{shown}?view=reasons", f"{shown}?row=18"]
    views += [f"job/{failed_job}", f"result/{'0' * 32}", "nowhere"]
    page = visit("", viewport=screen, bypass_csp=True)

    def found(view: str, awaited: str = "html[data-ready] main h1") -> list[str]:
        page.goto(f"{server.url}/#/{view}")
        page.reload()
        page.wait_for_selector("dialog[open]" if "row=" in view else awaited)
        return complaints(page)

    with running_job(server, table) as running:
        assert found(f"job/{running}", "html[data-ready] main:has(h1) progress:not([hidden])") == []
    assert [one for view in views for one in found(view)] == []
