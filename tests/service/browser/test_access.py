"""Everyone can use the page: axe-core finds nothing to complain about, in any view, light or dark, wide or narrow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ..running import Running
from .conftest import PHONE, WIDE

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
RUN = "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"


def complaints(page: Any) -> list[str]:
    """What axe-core found, and where."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in page.evaluate(RUN)]


@pytest.fixture(autouse=True)
def _axe() -> None:
    if not AXE.exists() or not AXE.stat().st_size:
        pytest.skip("axe-core is not installed: make browser")


@pytest.mark.parametrize("screen", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_keeps_anyone_out(
    visit: Any, server: Running, result: str, scheme: str, screen: dict[str, int]
) -> None:
    pets = b"pet,says\n" + b"cat,meow\n" * 30
    file = server.http.post("/files", params={"name": "pets.csv"}, content=pets).json()["id"]
    shown = f"result/{result}"
    views = ["", f"file/{file}", f"{shown}?shown=alarms", f"{shown}?view=reasons", f"{shown}?row=18"]
    page = visit("", color_scheme=scheme, viewport=screen, bypass_csp=True)
    found = {}
    for view in views:
        page.goto(f"{server.url}/#/{view}")
        page.reload()
        page.wait_for_selector("dialog[open]" if "row=" in view else "html[data-ready] main h1")
        found[view] = complaints(page)
    assert [one for view in views for one in found[view]] == []
