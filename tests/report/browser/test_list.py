"""The list of anomalies sorts, filters and pages, tens of thousands of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maskdiff.report import ReportBuilder, write_report

from ...conftest import make_connections
from ..pages import WHEN
from ..samples import connections_detector, odd_connections
from .lists import LINES, column, page_of, sort_by, status, wait_for_match, wait_for_status


def test_the_page_opens_with_the_highest_scores_first(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    assert status(page) == f"Anomalies 1 to 25 of {len(rows)}"
    assert column(page, "Score") == [f"{row['score']:.3f}" for row in rows[:25]]
    assert column(page, "Row") == [str(row["number"]) for row in rows[:25]]
    assert column(page, "service") == [row["values"]["service"] for row in rows[:25]]


def test_columns_sort_in_both_directions_and_are_marked_as_sorted(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    amounts = sorted(int(row["values"]["bytes"]) for row in rows)
    sort_by(page, "bytes")
    assert [int(cell) for cell in column(page, "bytes")] == amounts[:25]
    assert page.locator("th[aria-sort]").all_inner_texts() == ["bytes"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    sort_by(page, "bytes")
    assert [int(cell) for cell in column(page, "bytes")] == amounts[::-1][:25]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    sort_by(page, "service")
    assert column(page, "service") == sorted(row["values"]["service"] for row in rows)[:25]
    sort_by(page, "Score")
    assert column(page, "Score") == [f"{row['score']:.3f}" for row in rows[:25]]


def test_sorting_works_from_the_keyboard_and_keeps_the_focus(visit: Any, report: Path) -> None:
    page = visit(report)
    page.locator("#list thead button", has_text="flag").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "flag"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_text_and_odd_column_filter_together(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    gopher = [row for row in rows if any("gopher" in value for value in row["values"].values())]
    page.fill("#find", "GoPher")
    wait_for_status(page, f"Anomalies 1 to 25 of {len(gopher)} that match, of {len(rows)}")
    assert set(column(page, "service")) == {"gopher"}
    both = [row for row in gopher if any(c["odd"] and c["column"] == "flag" for c in row["cells"])]
    assert 0 < len(both) < len(gopher)
    page.select_option("#odd-column", label=page.locator("#odd-column option", has_text="flag").inner_text())
    wait_for_status(page, f"Anomalies 1 to {min(25, len(both))} of {len(both)} that match, of {len(rows)}")
    page.fill("#find", "no such value")
    wait_for_status(page, "No anomaly matches.")
    page.click("#reset")
    wait_for_status(page, f"Anomalies 1 to 25 of {len(rows)}")


def test_pages_follow_each_other_to_the_last(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    pages = -(-len(rows) // 25)
    first = column(page, "Row")
    assert page.locator("[data-go=previous]").get_attribute("aria-disabled") == "true"
    page.click("[data-go=next]")
    assert status(page).startswith("Anomalies 26 to 50")
    assert not set(first) & set(column(page, "Row"))
    page.click("[data-go=last]")
    assert status(page).startswith(f"Anomalies {25 * (pages - 1) + 1} to {len(rows)}")
    assert page.locator("[data-go=next]").get_attribute("aria-disabled") == "true"
    page.fill("#page", "2")
    page.keyboard.press("Enter")
    assert status(page).startswith("Anomalies 26 to 50")
    page.select_option("#size", "100")
    assert page.locator(LINES).count() == 100
    seen = set(column(page, "Row"))
    for number in range(2, -(-len(rows) // 100) + 1):
        page.fill("#page", str(number))
        page.keyboard.press("Enter")
        seen |= set(column(page, "Row"))
    assert len(seen) == len(rows)


def test_a_group_shows_its_anomalies_only(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    size = sum(row["group"] == 0 for row in rows)
    page.click("#groups tbody tr:first-child td button.quiet")
    wait_for_status(page, f"Anomalies 1 to {min(25, size)} of {size} that match, of {len(rows)}")
    assert page.locator("#chosen-group").is_visible()
    times = page.locator("#groups tbody tr:first-child .pattern .times").first.inner_text()
    page.locator("#groups tbody tr:first-child .pattern").first.click()
    assert f"of {times[:-1]} that match" in status(page)
    page.click("#chosen-group button")
    wait_for_status(page, f"Anomalies 1 to 25 of {len(rows)}")
    assert page.locator("#chosen-group").is_hidden()


def test_twenty_thousand_anomalies_can_be_sorted_filtered_and_paged(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    builder = ReportBuilder(connections_detector())
    # The same few hundred odd rows many times, so that the test is quick.
    X = odd_connections(3000, share=1.0)
    verdicts = connections_detector().judge(X)
    X, verdicts = X[verdicts.is_anomaly], verdicts.take(verdicts.is_anomaly)
    while builder.n_alarms < 20_000:
        builder.add(X, verdicts=verdicts)
    path.write_text(builder.html(when=WHEN), encoding="utf-8")
    page = visit(path)
    n = len(page_of(path).rows())
    assert n == builder.n_alarms
    assert status(page) == f"Anomalies 1 to 25 of {n:,}"
    sort_by(page, "bytes")
    page.click("[data-go=last]")
    assert status(page) == f"Anomalies {25 * ((n - 1) // 25) + 1:,} to {n:,} of {n:,}"
    amounts = [int(cell) for cell in column(page, "bytes")]
    assert amounts == sorted(amounts)
    page.fill("#find", "gopher")
    wait_for_match(page)
    assert set(column(page, "service")) == {"gopher"}


def test_a_page_without_rows_opens_without_errors(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "calm.html"
    write_report(connections_detector(), make_connections(5, seed=7).iloc[:0], path, when=WHEN)
    assert "No rows were scored" in visit(path).inner_text("body")


def test_rows_are_kept_by_what_makes_them_odd(visit: Any, report: Path) -> None:
    page, data = visit(report), page_of(report).data
    n_alarms = data["rates"][data["ownRate"]]["n"]
    kept = [at for at, oddity in enumerate(data["oddity"][:n_alarms]) if data["oddities"][oddity] == "odd in context"]
    assert 0 < len(kept) < n_alarms
    page.select_option("#oddity", label="odd in context")
    wait_for_match(page)
    assert column(page, "Row") == [str(data["number"][at]) for at in kept[:25]]
    page.select_option("#view", "reasons")
    assert "odd in context" in page.locator(LINES).first.inner_text()
    page.click("#reset")
    wait_for_status(page, f"Anomalies 1 to 25 of {n_alarms}")
