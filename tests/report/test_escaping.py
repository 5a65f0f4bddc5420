"""Values and names are shown as text, even if they contain markup, and the page loads nothing."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from maskdiff.detectors import TableDetector
from maskdiff.report import write_report
from maskdiff.report.formatting import display_value

from ..conftest import make_connections
from .pages import VOID, Page, report_on
from .samples import NASTY, connections_detector, odd_connections, services

texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=40), st.text("<>&\"'/!-=`{}% abscript\\\x00", max_size=30))
LOADS = ("src", "href", "action", "srcset", "data", "poster", "background", "formaction", "xlink:href")


@cache
def plain_tags() -> frozenset[str]:
    return frozenset(tag for tag, _ in report_on(odd_connections(100)).elements)


def check_harmless(page: Page) -> None:
    assert {tag for tag, _ in page.elements} <= plain_tags() | VOID
    assert len(page.scripts) == 3
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert all((attributes.get(name) or "#").startswith("#") for name in LOADS)


def as_displayed(values: list[str]) -> list[str]:
    X = services(values)
    texts = connections_detector().encoder_.display(X, range(len(X)), ["service"] * len(X))
    return [display_value(text) for text in texts]


@settings(max_examples=25)
@given(st.lists(texts, min_size=1, max_size=8))
@example(NASTY)
def test_values_are_shown_as_text(values: list[str]) -> None:
    page = report_on(services(values))
    check_harmless(page)
    displayed = as_displayed(values)
    rows = page.rows()
    assert [row["values"]["service"] for row in rows] == [displayed[row["number"]] for row in rows]
    written = ["".join(line) for table in page.tables for line in table]
    for row in rows[:50]:
        odd = [cell for cell in row["cells"] if cell["odd"] and cell["column"] == "service"]
        assert all(any(cell["value"] in line for line in written) for cell in odd)


# A data frame's column name cannot contain half a surrogate pair; NumPy drops a NUL at the end of a name.
names_of_columns = texts.map(lambda text: text.replace("\ud800", "?").replace("\x00", "?"))


@settings(max_examples=15)
@given(st.lists(names_of_columns, min_size=4, max_size=4, unique=True), texts)
@example(NASTY[:4], NASTY[1])
def test_names_titles_and_sources_are_shown_as_text(names: list[str], text: str) -> None:
    detector = TableDetector("kernel", progress=False).fit(make_connections(60, seed=7).set_axis(names, axis=1))
    X = odd_connections(12).set_axis(names, axis=1)
    page = report_on(X, detector, source=text, model=text, title=text)
    check_harmless(page)
    assert [column["name"] for column in page.data["columns"]] == [display_value(name) for name in names]
    assert display_value(text) in page.text


def test_the_page_refers_to_nothing_outside_itself() -> None:
    page = report_on(odd_connections(100))
    check_harmless(page)
    assert not re.search(r"@import|url\(", page.styles[0])
    assert not re.search(r"https?://", page.html)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|eval\(", page.html)


def test_only_the_pages_own_scripts_may_run() -> None:
    page = report_on(services(NASTY))
    policies = [a["content"] or "" for tag, a in page.elements if tag == "meta" and "http-equiv" in a]
    assert len(policies) == 1
    assert "default-src 'none'" in policies[0]
    assert len(re.findall(r"'sha256-[A-Za-z0-9+/=]{44}'", policies[0])) == 2
    assert "script-src 'unsafe-inline'" not in policies[0]


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(connections_detector(), services(["\ud800"] * 3), path, source="name-\udcff.csv")
    assert "\\ud800" in path.read_text(encoding="utf-8")
    assert "name-\\udcff.csv" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("hidden", ["\u200b", "\u00a0", "\ufeff", "\u202e", "\x00", "\x85"])
def test_invisible_characters_are_made_visible(hidden: str) -> None:
    assert hidden not in display_value(f"http{hidden}")
    assert display_value(f"http{hidden}") != "http"
