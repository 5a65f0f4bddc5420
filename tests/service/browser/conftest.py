"""The page of a real server in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maskdiff.client import Client

from ...browsing import Visits
from ...conftest import make_connections
from ..running import Running

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="package")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Connections by day; a few are odd, some of them in the same way."""
    rows = make_connections(300, seed=5)
    rows.loc[[17, 40, 99], "service"] = "gopher"
    rows.loc[[17, 40], "bytes"] = [90_000, 99_000]
    rows["day"] = [f"2024-{1 + at % 12:02d}-{1 + at % 28:02d}" for at in range(300)]
    path = tmp_path_factory.mktemp("tables") / "connections.csv"
    rows.to_csv(path, index=False)
    return path


@pytest.fixture(scope="package")
def result(server: Running, table: Path) -> str:
    """The id of a file that was judged by a model."""
    with Client(server.url, seconds=120) as client:
        file = client.upload(table)["id"]
        job = client.wait(client.http.post("/results", json={"file": file, "model": "connections"}).json())
        return str(job["result"]["result"])


@pytest.fixture
def visit(browser: Any, usual_page: Any, server: Running) -> Iterator[Callable[..., Any]]:
    """Opens a view; fails if it requests anything elsewhere, or if there are errors in it."""
    visits = Visits(browser, usual_page, WIDE)
    errors: list[str] = []

    def open_view(view: str = "", **settings: Any) -> Any:
        listeners = {
            "pageerror": lambda error: errors.append(str(error)),
            "console": lambda message: errors.append(message.text) if message.type == "error" else None,
            "request": lambda one: one.url.startswith(server.url) or errors.append(f"requested {one.url}"),
        }
        page = visits.page(listeners, **settings)
        page.goto(f"{server.url}/#/{view}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_view
    visits.leave()
    usual = ("requested blob:", "Failed to load resource")  # a download, and what the service refuses
    assert [error for error in errors if not error.startswith(usual)] == []
