"""A real browser, and pages to open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from maskdiff.report import write_report

from ...browsing import PATIENCE
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


@pytest.fixture(scope="package")
def usual_page(browser: Any) -> Iterator[Any]:
    """A page on a wide screen that tests open one after the other: a new one starts processes of the browser."""
    context = browser.new_context(viewport=WIDE)
    yield context.new_page()
    context.close()


@pytest.fixture
def visit(browser: Any, usual_page: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page; fails if it requests anything but itself, or if there are errors in it."""
    free, contexts, errors = [usual_page], [], []
    listening: list[tuple[Any, str, Callable[[Any], Any]]] = []

    def new_page(settings: dict[str, Any]) -> Any:
        contexts.append(browser.new_context(**{"viewport": WIDE, **settings}))
        return contexts[-1].new_page()

    def open_page(path: Path, **settings: Any) -> Any:
        page = free.pop() if free and not settings else new_page(settings)
        page.set_default_timeout(PATIENCE)
        for event, listener in listeners(path, errors).items():
            page.on(event, listener)
            listening.append((page, event, listener))
        page.goto(path.as_uri())
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for page, event, listener in listening:
        page.remove_listener(event, listener)
    for context in contexts:
        context.close()
    if not free:
        usual_page.evaluate("localStorage.clear(); sessionStorage.clear()")
        usual_page.mouse.move(0, 0)
        usual_page.goto("about:blank")
    assert errors == []


def listeners(path: Path, errors: list[str]) -> dict[str, Callable[[Any], Any]]:
    """What notices errors of a page, and requests for anything but itself."""
    return {
        "pageerror": lambda error: errors.append(str(error)),
        "console": lambda message: errors.append(message.text) if message.type == "error" else None,
        "dialog": lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()),
        "request": lambda request: request.url == path.as_uri() or errors.append(f"requested {request.url}"),
    }
