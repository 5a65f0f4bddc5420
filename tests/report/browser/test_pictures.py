"""Learned and new values, alarms over time and nearest normal rows, on screens of any width."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.report import write_report

from ..pages import WHEN
from .lists import LINES, PHONE, page_of


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Claims with two dates, judged by a model that holds normal rows."""
    path, rng = tmp_path_factory.mktemp("claims") / "claims.html", np.random.default_rng(0)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), unit="D")
    claims = pd.DataFrame(
        {
            "day": days,
            "paid": days + pd.Timedelta(days=9),
            "cause": rng.choice(["fire", "water"], 300),
            "cost": rng.gamma(3, 90, 300),
        }
    )
    detector = TableDetector(progress=False).fit(claims.iloc[100:200])
    new = claims.iloc[200:].copy()
    new.loc[200:219, "cause"] = "meteorite"
    new.loc[210:214, "cost"] = -5000.0
    write_report(detector, new, path, when=WHEN)
    return path


@pytest.mark.parametrize("view", ["reasons", "ranked", "given"])
def test_no_table_overflows_on_a_phone(visit: Any, claims: Path, view: str) -> None:
    page = visit(claims, viewport=PHONE)
    page.select_option("#view", view)
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    wide = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
    assert page.evaluate(wide) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_tables_drawn_as_cards_are_still_tables(visit: Any, claims: Path) -> None:
    page = visit(claims, viewport=PHONE)
    assert page.get_by_role("table", name="Columns by their drift").first.get_by_role("row").count() >= 4
    assert page.locator("#columns td.num").first.get_attribute("data-label").startswith("Share of the")


def test_bars_show_learned_and_new_shares(visit: Any, claims: Path) -> None:
    page = visit(claims)
    cause = page.locator(".pictures figure", has_text="cause").first
    titles = cause.locator("title").evaluate_all("nodes => nodes.map((node) => node.textContent)")
    assert titles[-1].startswith("never seen: 0% learned, 20%")
    assert cause.locator("rect.alarm").count() == 1


def test_the_anomalies_over_time_are_all_in_the_table(visit: Any, claims: Path) -> None:
    page = visit(claims)
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    counts = page.locator("#time .timeline:not([hidden]) tbody td:last-child").all_inner_texts()
    assert sum(map(int, counts)) == len(page_of(claims).rows())


def test_the_reader_chooses_the_column_of_dates(visit: Any, claims: Path) -> None:
    page = visit(claims)
    shown = "#time .timeline:visible"
    first, second = page.locator("#time-column option").all_inner_texts()
    assert {first, second} == {"day", "paid"}
    assert f"of {first}." in page.inner_text(f"{shown} p >> nth=0")
    page.select_option("#time-column", label=second)
    assert page.locator(shown).count() == 1
    assert f"of {second}." in page.inner_text(f"{shown} p >> nth=0")


def test_nearest_normal_rows_are_shown_below_their_anomaly(visit: Any, claims: Path) -> None:
    page = visit(claims)
    assert page.locator(f"{LINES}.near").count() == 0
    page.check("#near")
    n = min(25, len(page_of(claims).rows()))
    assert page.locator(f"{LINES}.near").count() == 3 * n
    below = page.locator(f"{LINES}:nth-child(2)").inner_text()
    assert below.split()[:2] == ["normal", "1"]
    page.select_option("#view", "reasons")
    assert page.locator(f"{LINES} .nearest").count() == n
