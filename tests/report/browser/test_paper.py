"""A printed page is light, fits the sheet, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SHEET = {"width": 688, "height": 970}  # A4 within its margins
OVERFLOWING = """[...document.querySelectorAll('main *, header *')].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width && getComputedStyle(node).position !== 'absolute' && box.right > innerWidth + 1;
}).map((node) => node.outerHTML.slice(0, 120))"""


def printed(visit: Any, path: Path) -> Any:
    """The page as it goes to the printer, from a reader with the dark theme."""
    page = visit(path, viewport=SHEET, color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    return page


@pytest.mark.parametrize("name", ["texts", "checks"])
def test_nothing_is_cut_off_at_the_edge_of_the_sheet(visit: Any, name: str, request: pytest.FixtureRequest) -> None:
    page = printed(visit, request.getfixturevalue(name))
    assert page.evaluate(OVERFLOWING) == []
    cut = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length"
    assert page.evaluate(cut) == 0


def test_paper_is_white_and_leaves_out_what_needs_a_screen(visit: Any, report: Path) -> None:
    page = printed(visit, report)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for gone in ("#controls", ".pager", "#theme", "nav", ".switch", ".on-screen"):
        assert page.locator(gone).first.is_hidden()
    assert page.locator("#list caption").is_visible()


def test_what_is_folded_is_named_as_not_printed(visit: Any, report: Path) -> None:
    page = printed(visit, report)
    assert page.locator("#scores summary").is_visible()
    content = page.locator("#scores summary").evaluate("node => getComputedStyle(node, '::after').content")
    assert "not printed" in content
    page.locator("#scores details").evaluate("node => { node.open = true; }")
    assert page.locator("#scores summary").is_hidden()
    assert page.locator("#scores table").is_visible()


def test_rows_charts_and_checks_are_not_split_between_sheets(visit: Any, checks: Path) -> None:
    page = printed(visit, checks)
    for whole in ("#list tbody tr", ".chart-box", ".checks > div", ".figures"):
        assert page.locator(whole).first.evaluate("node => getComputedStyle(node).breakInside") == "avoid"
