"""The list of anomalies on an open page: its lines, its head and its status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..pages import Page

WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
LINES = "#list tbody tr"


def page_of(path: Path) -> Page:
    """The page as it was written, before its scripts run."""
    return Page(path.read_text(encoding="utf-8"))


def column(page: Any, head: str) -> list[str]:
    """The cells below a head, without what only screen readers get."""
    heads = [text.strip(" \u00a0↑↓") for text in page.locator("#list thead th").all_inner_texts()]
    cells = f"[...document.querySelectorAll('{LINES}')].map(tr => tr.cells[{heads.index(head)}].firstChild.textContent)"
    found: list[str] = page.evaluate(cells)
    return found


def sort_by(page: Any, head: str) -> None:
    page.locator("#list thead button", has_text=head).first.click()


def status(page: Any) -> str:
    text: str = page.inner_text("#status")
    return text


def wait_for_status(page: Any, text: str) -> None:
    from playwright.sync_api import expect

    expect(page.locator("#status")).to_have_text(text)


def wait_for_match(page: Any) -> None:
    from playwright.sync_api import expect

    expect(page.locator("#status")).to_contain_text("that match")


def printed_list(page: Any) -> str:
    """The text of the list while the page is printed."""
    page.evaluate(
        "addEventListener('beforeprint', () => { window.paper = document.querySelector('#list').innerText; })"
    )
    page.pdf()
    text: str = page.evaluate("window.paper")
    return text
