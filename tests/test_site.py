"""The guide as a site: every page has its place, and none needs a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="the tools of the guide are not installed")

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def pages_of(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of(part)


def test_every_page_has_one_place_in_the_navigation() -> None:
    placed = list(pages_of(SITE["nav"]))
    assert sorted(placed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_every_page_begins_with_its_title() -> None:
    assert [path.name for path in DOCS.rglob("*.md") if not path.read_text().startswith("# ")] == []


def test_nothing_is_fetched_to_read_it() -> None:
    assert SITE["theme"]["font"] is False
    assert [script for script in SITE["extra"]["polyfills"] if not (DOCS / script).is_file()] == []
