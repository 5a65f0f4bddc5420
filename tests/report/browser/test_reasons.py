"""What was expected is shown on screen, on paper and without scripts; values are never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskdiff.report import write_report

from ..pages import WHEN
from ..samples import NASTY, connections_detector, services
from .lists import LINES, page_of, printed_list, wait_for_match


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_cell_shows_what_was_expected(visit: Any, report: Path, way: str) -> None:
    page, row = visit(report), page_of(report).rows()[0]
    cell = next(cell for cell in row["cells"] if cell["odd"])
    odd = page.locator(f"{LINES}:first-child td.odd", has_text=cell["value"]).first
    getattr(odd, way)()
    tip = page.locator("#tip")
    assert f"expected {cell['expected']}" in tip.inner_text()
    assert f"{cell['column']} is {cell['value']}" in tip.inner_text()
    assert f"expected {cell['expected']}" in odd.text_content()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_rows_are_the_same_with_and_without_scripts(visit: Any, report: Path) -> None:
    with_scripts, without = visit(report), visit(report, java_script_enabled=False)
    with_scripts.select_option("#view", "reasons")
    with_scripts.select_option("#size", "50")
    assert with_scripts.locator(LINES).all_inner_texts() == without.locator(LINES).all_inner_texts()
    assert without.locator(LINES).count() == 50
    assert without.locator("#controls").is_hidden()
    assert without.locator("#groups button:enabled").count() == 0


def test_printed_rows_have_their_odd_cells_and_expected_values(visit: Any, report: Path) -> None:
    page = visit(report)
    page.fill("#find", "gopher")
    wait_for_match(page)
    paper = printed_list(page)
    gopher = [row for row in page_of(report).rows() if row["values"]["service"] == "gopher"]
    assert 25 < len(gopher) < 50
    assert paper.count("gopher") == len(gopher)
    assert paper.count("expected") > len(gopher)
    assert page.locator("#list").get_attribute("class") == "list full"


def test_values_that_contain_markup_are_shown_and_not_run(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "nasty.html"
    write_report(connections_detector(), services(NASTY), path, when=WHEN)
    page = visit(path)
    values = {row["values"]["service"] for row in page_of(path).rows()}
    for view in ("ranked", "reasons"):
        page.select_option("#view", view)
        page.select_option("#size", "50")
        text = page.locator("#list").evaluate("node => node.textContent")
        assert [value for value in values if value not in text] == []
    assert page.evaluate("document.querySelectorAll('img, iframe, b').length") == 0
