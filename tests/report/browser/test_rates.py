"""Another false-alarm rate: the list and every count on the page follow it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maskdiff.report import write_report

from ...conftest import make_connections
from ..pages import WHEN
from ..samples import connections_detector
from .lists import LINES, column, page_of, status


def choose_rate(page: Any, at: int) -> None:
    page.select_option("#rate", str(at))


def test_the_list_and_the_figures_follow_the_rate(visit: Any, report: Path) -> None:
    page, data = visit(report), page_of(report).data
    own = data["ownRate"]
    assert 0 < own < len(data["rates"]) - 1
    for at in (0, len(data["rates"]) - 1, own):
        choose_rate(page, at)
        chosen = data["rates"][at]
        assert status(page) == f"Anomalies 1 to 25 of {chosen['n']:,}"
        assert page.inner_text(".figures .alarm dd") == f"{chosen['nText']} {chosen['share']}"
        assert f"{chosen['nText']} of 400 rows ({chosen['share']})" in page.inner_text(".lede")
        assert f"{chosen['expected']} would stand out" in page.inner_text(".lede")
        assert page.inner_text(".chart.linear .threshold-label") == f"threshold {chosen['thresholdText']}"
        page.click("[data-go=last]")
        assert float(column(page, "Score")[-1]) >= round(chosen["threshold"], 3)


def test_groups_and_odd_columns_are_counted_again_and_come_back(visit: Any, report: Path) -> None:
    page, data = visit(report), page_of(report).data
    sizes, odd = "#groups [data-part=size]", "#columns [data-odd]"
    before = page.locator(sizes).all_inner_texts(), page.locator(odd).all_inner_texts()
    choose_rate(page, 0)
    n = data["rates"][0]["n"]
    assert page.locator(sizes).all_inner_texts() == [str(data["group"][:n].count(at)) for at in range(len(before[0]))]
    assert page.locator(odd).all_inner_texts() != before[1]
    assert page.locator("#columns .own-rate").is_visible()
    first = page.locator("#odd-column option").nth(1)
    assert first.inner_text().endswith(f"({max(int(text) for text in page.locator(odd).all_inner_texts())})")
    page.locator("#groups td button.quiet").first.click()
    assert f"of {page.locator(sizes).first.inner_text()} that match, of {n}" in status(page)
    page.click("#chosen-group button")
    choose_rate(page, data["ownRate"])
    assert (page.locator(sizes).all_inner_texts(), page.locator(odd).all_inner_texts()) == before
    assert page.locator("#columns .own-rate").is_hidden()


def test_a_page_without_anomalies_lists_rows_at_a_higher_rate(visit: Any, tmp_path: Path) -> None:
    path, rows = tmp_path / "calm.html", make_connections(60, seed=7)
    write_report(connections_detector(), rows[~connections_detector().is_anomaly(rows)], path, when=WHEN)
    page, data = visit(path), page_of(path).data
    assert status(page) == "No anomalies at this rate."
    assert page.locator("#list").is_hidden()
    choose_rate(page, len(data["rates"]) - 1)
    n = data["rates"][-1]["n"]
    assert page.locator(LINES).count() == n > 0
    assert f"{n} of " in page.inner_text(".lede")
    assert page.locator("#anomalies .at-own-rate").is_hidden()
    assert page.locator("#odd-column option:not([hidden])").count() > 1
    choose_rate(page, data["ownRate"])
    assert page.locator("#list").is_hidden()
    assert page.locator("#anomalies .at-own-rate").is_visible()
    assert page.locator("#odd-column option:not([hidden])").count() == 1
