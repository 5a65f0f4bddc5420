"""From a dropped file to a decision, as a person goes through it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ..running import Running, wait_until
from .conftest import PHONE

ROWS = "#list tbody tr"


def wait(page: Any, script: str) -> None:
    """Until this is true; the page's policy forbids what the driver would do to wait for it."""
    wait_until(lambda: page.evaluate(script), script)


def test_drop_find_explain_what_if_dismiss_download_and_reload(visit: Any, table: Path) -> None:
    page = visit()
    assert page.inner_text("h1") == "Find the odd rows of a table"
    page.set_input_files("#file", str(table))

    page.wait_for_selector("table.columns tbody tr")
    assert page.inner_text("table.columns tbody tr:nth-child(4) .type") == "number"
    page.select_option("select[data-column=bytes]", "category")
    wait(page, "document.querySelector('table.columns tbody tr:nth-child(4)').textContent.includes('category')")
    page.select_option("select[data-column=bytes]", "auto")
    wait(page, "document.querySelector('table.columns tbody tr:nth-child(4) .type').textContent === 'number'")

    page.select_option("#method", "kernel")
    page.click("text=Find odd rows >> nth=-1")
    page.wait_for_url(re.compile("#/result/"))
    page.wait_for_selector("#list")
    page.select_option("#by-shown", "all")
    wait(page, f"document.querySelectorAll('{ROWS}').length === 25")
    first = int(page.inner_text(f"{ROWS} .row-button >> nth=0"))
    assert first in (18, 41, 100)
    assert page.locator(f"{ROWS}:first-child td.odd .expected").count() > 0

    page.click(f"{ROWS} .row-button >> nth=0")
    page.wait_for_selector("dialog.story[open]")
    assert f"row={first}" in page.url
    page.fill("input[aria-label^='service,']", "http")
    page.wait_for_selector(".what-if:not([hidden])")
    was, now = (float(text) for text in re.findall(r"\d+\.\d+", page.inner_text(".what-if")))
    assert now != was
    page.click("button[data-scope='same cells']")
    wait(page, "document.querySelector('dialog .note[role=alert]').textContent.includes('judged fine')")
    page.keyboard.press("Escape")
    page.select_option("#by-shown", "fine")
    wait(page, f"[...document.querySelectorAll('{ROWS} .row-button')].some((one) => one.textContent === '{first}')")

    with page.expect_download() as download:
        page.click("#save")
    saved = Path(download.value.path()).read_text()
    assert saved.splitlines()[0].startswith("protocol,service,flag,bytes,day,")
    assert f",{first}," in saved

    page.select_option("#by-shown", "all")
    page.fill("#search", "gopher")
    wait(page, "location.hash.includes('search=gopher')")
    wait(page, f"document.querySelectorAll('{ROWS}').length === 3")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.input_value("#search") == "gopher"
    assert page.locator(ROWS).count() == 3


def test_a_model_is_learned_and_judges_with_groups_time_and_drift(visit: Any, server: Running, result: str) -> None:
    page = visit(f"result/{result}?shown=alarms")
    assert page.locator("#drift .pictures svg, #drift table").count() > 0
    assert page.locator("#groups tbody tr").count() > 0
    page.click("#groups td button.quiet >> nth=0")
    wait(page, "location.hash.includes('group=0')")
    page.wait_for_selector(".chosen:not([hidden])")
    page.click(".chosen button")
    before = page.inner_text("#rate-said")
    page.focus("#rate")
    page.keyboard.press("End")
    wait(page, f"document.getElementById('rate-said').textContent !== {before!r}")
    wait(page, "location.hash.includes('rate=')")
    page.click("[data-sort=bytes]")
    wait(page, "document.querySelector('[aria-sort] [data-sort=bytes]') !== null")
    assert page.evaluate("document.activeElement.dataset.sort") == "bytes"


def test_the_keyboard_reaches_a_row_and_comes_back_to_it(visit: Any, result: str) -> None:
    page = visit(f"result/{result}?shown=alarms")
    page.focus(f"{ROWS} .row-button >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog.story[open]")
    assert page.evaluate("document.activeElement.id") == "story-title"
    page.keyboard.press("Escape")
    wait(page, "!document.querySelector('dialog[open]')")
    assert page.evaluate("document.activeElement.classList.contains('row-button')")


def test_a_file_that_cannot_be_read_says_why_beside_the_field(visit: Any, tmp_path: Path) -> None:
    broken = tmp_path / "broken.csv"
    broken.write_bytes(b"")
    page = visit()
    page.set_input_files("#file", str(broken))
    wait(page, "document.querySelector('.drop [role=alert]').textContent.includes('broken.csv cannot be used')")


def test_a_view_that_is_not_there_says_so(visit: Any) -> None:
    page = visit("nowhere")
    assert page.inner_text("[role=alert]") == "The address of this view is not known."


def test_nothing_is_wider_than_a_phone(visit: Any, result: str) -> None:
    for view in ("", f"result/{result}", f"result/{result}?row=18"):
        page = visit(view, viewport=PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_values_with_markup_are_shown_as_text(visit: Any, server: Running) -> None:
    evil = "pet,says\n" + "cat,meow\n" * 30 + "<img src=x onerror=alert(1)>,<b>woof</b>\n"
    file = server.http.post("/files", params={"name": "<b>evil.csv"}, content=evil.encode()).json()["id"]
    page = visit(f"file/{file}")
    assert page.inner_text("h1") == "<b>evil.csv"
    assert page.locator("img, main b").count() == 0
