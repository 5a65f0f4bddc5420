"""A page about texts: shaded tokens, filters, paper and phones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..samples import SPAM
from .lists import LINES, PHONE, page_of, printed_list, wait_for_status


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_shaded_token_shows_what_was_expected(visit: Any, texts: Path, way: str) -> None:
    page, rows = visit(texts), page_of(texts).rows()
    at = next(i for i, row in enumerate(rows) if row["values"]["text"] == "see you at zoo")
    zoo = page.locator(f"{LINES}:nth-child({at + 1}) mark.odd")
    assert zoo.evaluate("node => node.firstChild.textContent") == "zoo"
    getattr(zoo, way)()
    tip = page.locator("#tip").inner_text()
    assert f"expected “{rows[at]['cells'][0]['expected']}”" in tip
    assert "never seen in training" in tip
    assert "expected" in zoo.text_content()


def test_texts_are_found_filtered_by_odd_token_and_shown_with_reasons(visit: Any, texts: Path) -> None:
    page, rows = visit(texts), page_of(texts).rows()
    page.select_option("#odd-column", label=page.locator("#odd-column option", has_text="claim").inner_text())
    odd = [row for row in rows if any(cell["odd"] and cell["value"] == "claim" for cell in row["cells"])]
    wait_for_status(page, f"Anomalies 1 to {len(odd)} of {len(odd)} that match, of {len(rows)}")
    page.click("#reset")
    page.fill("#find", "ZOO")
    wait_for_status(page, f"Anomalies 1 to 1 of 1 that match, of {len(rows)}")
    page.select_option("#view", "reasons")
    shown = page.locator(f"{LINES} td:last-child").inner_text()
    assert shown.startswith("see you at zoo")
    assert "expected" in shown


def test_texts_are_the_same_with_and_without_scripts(visit: Any, texts: Path) -> None:
    with_scripts, without = visit(texts), visit(texts, java_script_enabled=False)
    with_scripts.select_option("#view", "reasons")
    assert with_scripts.locator(LINES).all_inner_texts() == without.locator(LINES).all_inner_texts()


@pytest.mark.parametrize("view", ["reasons", "ranked"])
def test_a_phone_shows_texts_without_scrolling_sideways(visit: Any, texts: Path, view: str) -> None:
    page = visit(texts, viewport=PHONE)
    page.select_option("#view", view)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_printed_texts_have_their_expected_values(visit: Any, texts: Path) -> None:
    page = visit(texts)
    paper = printed_list(page)
    assert "see you at zoo" in paper
    assert paper.count("expected") >= len(SPAM)
