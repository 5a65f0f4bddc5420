"""What was reviewed is remembered, filtered and exported; the filtered list is saved as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from maskdiff.report import write_report

from ..pages import WHEN
from ..samples import NASTY, connections_detector, services
from .lists import LINES, column, page_of, status, wait_for_match, wait_for_status


def saved(page: Any) -> list[dict[str, str]]:
    """The file the page hands over, as records."""
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "anomalies.csv"
    text = Path(download.value.path()).read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_marks_survive_a_reload_and_filter_the_list(visit: Any, report: Path) -> None:
    page, n = visit(report, remembers=True), len(page_of(report).rows())
    rows = column(page, "Row")
    for at in (0, 2):
        page.locator("[data-reviewed]").nth(at).check()
    assert page.locator(f"{LINES}.reviewed").count() == 2
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert [page.locator("[data-reviewed]").nth(at).is_checked() for at in range(4)] == [True, False, True, False]
    page.select_option("#show-reviewed", "done")
    assert column(page, "Row") == [rows[0], rows[2]]
    page.select_option("#show-reviewed", "open")
    wait_for_status(page, f"Anomalies 1 to 25 of {n - 2} that match, of {n}")
    assert column(page, "Row")[:2] == [rows[1], rows[3]]
    page.locator("[data-reviewed]").first.press("Space")
    page.click("#reset")
    assert page.locator("[data-reviewed]").nth(1).is_checked()


def test_another_report_has_marks_of_its_own(visit: Any, report: Path, tmp_path: Path) -> None:
    page = visit(report)
    page.locator("[data-reviewed]").first.check()
    other = tmp_path / "other.html"
    write_report(connections_detector(), services(["gopher"] * 30), other, when=WHEN)
    digests = {page_of(path).data["digest"] for path in (report, other)}
    assert len(digests) == 2


def test_a_browser_without_storage_marks_rows_while_the_page_is_open(visit: Any, report: Path, browser: Any) -> None:
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } });")
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.locator("[data-reviewed]").first.check()
    page.select_option("#show-reviewed", "done")
    assert status(page).startswith("Anomalies 1 to 1 of 1 that match")
    context.close()


def test_the_saved_list_is_the_filtered_one_with_its_values_and_marks(visit: Any, report: Path) -> None:
    page, rows = visit(report), page_of(report).rows()
    page.fill("#find", "gopher")
    wait_for_match(page)
    page.locator("[data-reviewed]").nth(1).check()
    wanted = [row for row in rows if row["values"]["service"] == "gopher"]
    found = saved(page)
    assert [int(line["row"]) for line in found] == [row["number"] for row in wanted]
    assert [line["reviewed"] for line in found] == ["no", "yes", *["no"] * (len(found) - 2)]
    for line, row in zip(found, wanted, strict=True):
        assert float(line["anomaly_score"]) == row["score"]
        assert line["p_value"] == row["p"]
        assert set(line["odd"].split("; ")) == row["odd"]
        assert {name: line[name] for name in row["values"]} == row["values"]
    data = page_of(report).data
    by_number = dict(zip(data["number"], data["oddity"], strict=True))
    assert [line["oddity"] for line in found] == [data["oddities"][by_number[int(line["row"])]] for line in found]
    assert all(line["oddity"] for line in found)


def test_saved_values_are_quoted_and_start_no_formula(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "nasty.html"
    write_report(connections_detector(), services(NASTY), path, when=WHEN)
    page = visit(path)
    values = [row["values"]["service"] for row in page_of(path).rows()]
    found = [line["service"] for line in saved(page)]
    assert [text.removeprefix("'") for text in found] == [value.removeprefix("'") for value in values]
    assert not [text for text in found if text[:1] in "=+-@" and not text.lstrip("-").isdigit()]


def test_texts_are_saved_whole(visit: Any, texts: Path) -> None:
    found = saved(visit(texts))
    assert "see you at zoo" in {line["text"] for line in found}
    assert all(line["odd"] for line in found)
