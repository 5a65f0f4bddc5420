"""A real browser for the tests of pages.

Needs Chromium on the machine and the playwright package; tests are skipped, with the reason, where one is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Milliseconds to wait for what will come: a busy machine is no fault of the page.
PATIENCE = 300_000
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# What can be changed while a page is open, as it is for most readers.
USUAL = {"media": "null", "color_scheme": "light", "reduced_motion": "no-preference"}


@contextmanager
def launched() -> Iterator[Any]:
    """A browser without a window, with a temporary profile."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, headless=True, args=FLAGS, timeout=PATIENCE)
        yield browser
        browser.close()


class Visits:
    """The pages that a test opens: the usual one, or new ones, for which the browser takes longer than to show them."""

    def __init__(self, browser: Any, usual: Any, viewport: dict[str, int]) -> None:
        self.browser, self.usual, self.viewport = browser, usual, viewport
        self.free, self.contexts = True, []
        self.listening: list[tuple[Any, str, Callable[[Any], Any]]] = []

    def page(self, listeners: dict[str, Callable[[Any], Any]], *, remembers: bool = False, **settings: Any) -> Any:
        """A page with these settings and listeners, where nothing is shown yet.

        One that `remembers` has a store of its own: a busy browser may empty that of the usual page, as `leave` asks,
        only after it has shown the next page.
        """
        if self.free and not remembers and settings.keys() <= {"viewport", *USUAL}:
            page, self.free = self.usual, False
            page.set_viewport_size(settings.pop("viewport", self.viewport))
            page.emulate_media(**{**USUAL, **settings})
        else:
            self.contexts.append(self.browser.new_context(**{"viewport": self.viewport, **settings}))
            page = self.contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        for event, listener in listeners.items():
            page.on(event, listener)
            self.listening.append((page, event, listener))
        return page

    def leave(self) -> None:
        """Nothing of this test is found by the next one."""
        for page, event, listener in self.listening:
            page.remove_listener(event, listener)
        for context in self.contexts:
            context.close()
        if not self.free:
            self.usual.evaluate("localStorage.clear(); sessionStorage.clear()")
            self.usual.mouse.move(0, 0)
            self.usual.goto("about:blank")
