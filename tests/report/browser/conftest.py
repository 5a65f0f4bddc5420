"""A real browser, and pages to open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maskdiff.report import write_report

from ...browsing import Visits
from ..pages import WHEN
from ..samples import (
    SPAM,
    builder_with_checks,
    connections_detector,
    odd_connections,
    some_texts,
    text_detector,
)
from .lists import WIDE


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a few hundred anomalies."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(connections_detector(), odd_connections(400), path, source="connections.csv", when=WHEN)
    return path


@pytest.fixture(scope="package")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about texts, four of them odd."""
    path = tmp_path_factory.mktemp("texts") / "texts.html"
    write_report(text_detector(), some_texts(30, *SPAM), path, when=WHEN)
    return path


@pytest.fixture(scope="package")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that begins with several checks."""
    path = tmp_path_factory.mktemp("checks") / "checks.html"
    path.write_text(builder_with_checks().html(when=WHEN), encoding="utf-8")
    return path


@pytest.fixture
def visit(browser: Any, usual_page: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; fails if it requests anything but itself, or if there are errors in it."""
    visits = Visits(browser, usual_page, WIDE)
    errors: list[str] = []

    def open_page(path: Path, **settings: Any) -> Any:
        listeners = {
            "pageerror": lambda error: errors.append(str(error)),
            "console": lambda message: errors.append(message.text) if message.type == "error" else None,
            "dialog": lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()),
            "request": lambda request: request.url == path.as_uri() or errors.append(f"requested {request.url}"),
        }
        page = visits.page(listeners, **settings)
        page.goto(path.as_uri())
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    visits.leave()
    assert errors == []
