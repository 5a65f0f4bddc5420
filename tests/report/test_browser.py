"""The page in a real browser: it opens, sorts, filters, pages and prints, and says the same with and without scripts.

Needs Chromium on the machine and the playwright package; skipped, with the reason, where one of them is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskdiff.report import ReportBuilder, write_report

from ..conftest import make_connections
from .pages import WHEN, Page, connections_detector, odd_connections
from .test_escaping import NASTY, services
from .test_tokens import SPAM, some_texts, text_detector

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
if CHROMIUM is None:
    pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed", allow_module_level=True)
playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 390, "height": 800}
LINES = "#list tbody tr"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # A browser started by the driver has a profile of its own, which is thrown away.
        opened = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a few hundred anomalies."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(connections_detector(), odd_connections(400), path, source="connections.csv", when=WHEN)
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page about texts, four of them odd."""
    path = tmp_path_factory.mktemp("texts") / "texts.html"
    write_report(text_detector(), some_texts(30, *SPAM), path, when=WHEN)
    return path


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a page; fails if it asks for anything but itself, or if anything goes wrong in it."""
    contexts, trouble = [], []

    def opened(path: Path, **settings: Any) -> Any:
        context = browser.new_context(**{"viewport": WIDE, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == path.as_uri() or trouble.append(f"asked for {request.url}"))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []


def told(path: Path) -> Page:
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
    playwright.expect(page.locator("#status")).to_have_text(text)


def test_the_page_opens_with_the_highest_scores_first(visit: Any, report: Path) -> None:
    page, rows = visit(report), told(report).rows()
    assert status(page) == f"Anomalies 1 to 25 of {len(rows)}"
    assert column(page, "Score") == [f"{row['score']:.3f}" for row in rows[:25]]
    assert column(page, "Row") == [str(row["number"]) for row in rows[:25]]
    assert column(page, "service") == [row["values"]["service"] for row in rows[:25]]


def test_columns_sort_up_and_down_and_say_so(visit: Any, report: Path) -> None:
    page, rows = visit(report), told(report).rows()
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


def test_sorting_works_from_the_keyboard_and_keeps_its_place(visit: Any, report: Path) -> None:
    page = visit(report)
    page.locator("#list thead button", has_text="flag").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "flag"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"


def test_text_and_odd_column_filter_together(visit: Any, report: Path) -> None:
    page, rows = visit(report), told(report).rows()
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
    page, rows = visit(report), told(report).rows()
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
    page, rows = visit(report), told(report).rows()
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


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_cell_tells_what_was_expected(visit: Any, report: Path, way: str) -> None:
    page, row = visit(report), told(report).rows()[0]
    cell = next(cell for cell in row["cells"] if cell["odd"])
    odd = page.locator(f"{LINES}:first-child td.odd", has_text=cell["value"]).first
    getattr(odd, way)()
    tip = page.locator("#tip")
    assert f"expected {cell['expected']}" in tip.inner_text()
    assert f"{cell['column']} is {cell['value']}" in tip.inner_text()
    assert f"expected {cell['expected']}" in odd.text_content()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_the_rows_say_the_same_with_and_without_scripts(visit: Any, report: Path) -> None:
    with_scripts, without = visit(report), visit(report, java_script_enabled=False)
    with_scripts.select_option("#view", "reasons")
    with_scripts.select_option("#size", "50")
    assert with_scripts.locator(LINES).all_inner_texts() == without.locator(LINES).all_inner_texts()
    assert without.locator(LINES).count() == 50
    assert without.locator("#controls").is_hidden()
    assert without.locator("#groups button:enabled").count() == 0


def test_paper_gets_the_odd_cells_with_what_was_expected(visit: Any, report: Path) -> None:
    page = visit(report)
    page.fill("#find", "gopher")
    playwright.expect(page.locator("#status")).to_contain_text("that match")
    page.evaluate(
        "addEventListener('beforeprint', () => { window.paper = document.querySelector('#list').innerText; })"
    )
    page.pdf()
    paper = page.evaluate("window.paper")
    gopher = [row for row in told(report).rows() if row["values"]["service"] == "gopher"]
    assert 25 < len(gopher) < 50
    assert paper.count("gopher") == len(gopher)
    assert paper.count("expected") > len(gopher)
    assert page.locator("#list").get_attribute("class") == "list full"


def test_whatever_a_cell_holds_is_seen_and_not_run(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "nasty.html"
    write_report(connections_detector(), services(NASTY), path, when=WHEN)
    page = visit(path)
    values = {row["values"]["service"] for row in told(path).rows()}
    for view in ("ranked", "reasons"):
        page.select_option("#view", view)
        page.select_option("#size", "50")
        text = page.locator("#list").evaluate("node => node.textContent")
        assert [value for value in values if value not in text] == []
    assert page.evaluate("document.querySelectorAll('img, iframe, b').length") == 0


def test_fifty_thousand_anomalies_can_be_sorted_filtered_and_paged(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    builder = ReportBuilder(connections_detector())
    # The same few hundred odd rows again and again: the page cannot tell, and the test is quick.
    X = odd_connections(3000, share=1.0)
    verdicts = connections_detector().judge(X)
    X, verdicts = X[verdicts.is_anomaly], verdicts.take(verdicts.is_anomaly)
    while builder.n_alarms < 50_000:
        builder.add(X, verdicts=verdicts)
    path.write_text(builder.html(when=WHEN), encoding="utf-8")
    page = visit(path)
    assert status(page) == "Anomalies 1 to 25 of 50,000"
    sort_by(page, "bytes")
    page.click("[data-go=last]")
    assert status(page) == "Anomalies 49,976 to 50,000 of 50,000"
    amounts = [int(cell) for cell in column(page, "bytes")]
    assert amounts == sorted(amounts)
    page.fill("#find", "gopher")
    playwright.expect(page.locator("#status")).to_contain_text("that match")
    assert set(column(page, "service")) == {"gopher"}


def test_no_anomalies_open_without_trouble(visit: Any, tmp_path: Path) -> None:
    path = tmp_path / "calm.html"
    write_report(connections_detector(), make_connections(5, seed=7).iloc[:0], path, when=WHEN)
    assert "No rows were scored" in visit(path).inner_text("body")


@pytest.mark.parametrize("view", ["reasons", "ranked"])
def test_a_phone_scrolls_tables_and_not_the_page(visit: Any, report: Path, view: str) -> None:
    page = visit(report, viewport=PHONE)
    assert page.input_value("#view") == "reasons"
    page.select_option("#view", view)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_theme_follows_the_system_until_the_reader_chooses(visit: Any, report: Path) -> None:
    page = visit(report, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.click("#theme")
    light = page.evaluate(background)
    assert dark != light
    assert page.locator("#theme").get_attribute("aria-pressed") == "false"
    page.reload()
    assert page.evaluate(background) == light


def luminance(rgb: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (channel / 255 for channel in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit: Any, report: Path, scheme: str) -> None:
    """WCAG AA: 4.5 for text, 3 for what is drawn."""
    page = visit(report, color_scheme=scheme)

    def colour(name: str) -> list[float]:
        made = f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
        told: str = page.evaluate(made)
        return [int(told[i : i + 2], 16) for i in (1, 3, 5)] if told[0] == "#" else [float(x) for x in told.split()]

    paper, card, faint, ink = (colour(name) for name in ("paper", "card", "faint", "ink"))
    most = colour("odd-most")[0]
    shaded = [most * odd + (1 - most) * ground for odd, ground in zip(colour("odd"), card, strict=True)]
    for ground in (paper, card, faint):
        assert min(contrast(colour(name), ground) for name in ("ink", "soft", "accent")) >= 4.5
    assert min(contrast(colour(name), card) for name in ("alarm-ink", "strong", "clear")) >= 4.5
    assert contrast(ink, shaded) >= 4.5
    assert min(contrast(colour(name), card) for name in ("calm", "alarm", "focus")) >= 3


def test_tables_have_captions_and_heads_that_say_what_they_head(visit: Any, report: Path) -> None:
    page = visit(report)
    assert (
        page.evaluate("[...document.querySelectorAll('table')].filter(t => !t.caption?.textContent.trim()).length") == 0
    )
    assert page.evaluate("[...document.querySelectorAll('th')].filter(th => !th.scope).length") == 0
    nameless = "[...document.querySelectorAll('input, select')].filter(node => !node.labels.length).length"
    assert page.evaluate(nameless) == 0


# Texts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["hover", "focus"])
def test_a_shaded_token_tells_what_was_expected(visit: Any, texts: Path, way: str) -> None:
    page, rows = visit(texts), told(texts).rows()
    at = next(i for i, row in enumerate(rows) if row["values"]["text"] == "see you at zoo")
    zoo = page.locator(f"{LINES}:nth-child({at + 1}) mark.odd")
    assert zoo.evaluate("node => node.firstChild.textContent") == "zoo"
    getattr(zoo, way)()
    tip = page.locator("#tip").inner_text()
    assert f"expected “{rows[at]['cells'][0]['expected']}”" in tip
    assert "never seen in training" in tip
    assert "expected" in zoo.text_content()


def test_texts_are_found_filtered_by_odd_token_and_shown_with_reasons(visit: Any, texts: Path) -> None:
    page, rows = visit(texts), told(texts).rows()
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


def test_texts_say_the_same_with_and_without_scripts(visit: Any, texts: Path) -> None:
    with_scripts, without = visit(texts), visit(texts, java_script_enabled=False)
    with_scripts.select_option("#view", "reasons")
    assert with_scripts.locator(LINES).all_inner_texts() == without.locator(LINES).all_inner_texts()


@pytest.mark.parametrize("view", ["reasons", "ranked"])
def test_a_phone_shows_texts_without_scrolling_sideways(visit: Any, texts: Path, view: str) -> None:
    page = visit(texts, viewport=PHONE)
    page.select_option("#view", view)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_paper_gets_texts_with_what_was_expected(visit: Any, texts: Path) -> None:
    page = visit(texts)
    page.evaluate(
        "addEventListener('beforeprint', () => { window.paper = document.querySelector('#list').innerText; })"
    )
    page.pdf()
    paper = page.evaluate("window.paper")
    assert "see you at zoo" in paper
    assert paper.count("expected") >= len(SPAM)
