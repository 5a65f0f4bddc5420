"""Every count of rows, anomalies and calibration rows that a page shows is the same number, whatever it is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector

from ..conftest import make_connections
from .pages import WHEN, Page, report_on
from .samples import SPAM, builder_with_checks, connections_detector, log_detector, odd_connections, some_texts
from .samples import text_detector as texts


def dated_page() -> Page:
    """Connections with two columns of dates, one of which is often missing."""
    days = pd.Series(pd.date_range("2023-01-01", periods=300, freq="D"))
    normal = make_connections(300, seed=7).assign(day=days, paid=days.where(np.arange(300) % 5 > 0))
    detector = TableDetector("kernel", columns={"day": "date", "paid": "date"}, progress=False).fit(normal)
    return report_on(odd_connections(150, share=0.2).assign(day=days[:150], paid=normal["paid"][:150]), detector)


def calm_page() -> Page:
    rows = make_connections(60, seed=7)
    return report_on(rows[~connections_detector().is_anomaly(rows)])


PAGES: dict[str, Callable[[], Page]] = {
    "table": lambda: report_on(odd_connections(1200)),
    "dates": dated_page,
    "checks": lambda: Page(builder_with_checks().html(when=WHEN)),
    "no anomalies": calm_page,
    "texts": lambda: report_on(some_texts(30, *SPAM, "", "  "), texts()),
    "sequences": lambda: report_on([["open", "read", "close"]] * 20 + [["open", "steal", "close"]] * 3, log_detector()),
}


def numbers(pattern: str, text: str) -> list[tuple[int, ...]]:
    """The numbers of every place in a text where this pattern fits, `#` standing for a number."""
    found = re.finditer(pattern.replace("#", r"([\d,]+)"), text)
    return [tuple(int(group.replace(",", "")) for group in match.groups()) for match in found]


def column_sum(lines: list[list[str]], at: int) -> int:
    return sum(int(line[at].split()[0].replace(",", "")) for line in lines)


@pytest.mark.parametrize("name", PAGES)
def test_all_counts_on_a_page_agree(name: str) -> None:
    page = PAGES[name]()
    text = " ".join(page.text.split())
    n_rows, n_alarms, n_calibration = of_rows(page, text), of_alarms(page, text), of_calibration(page, text)
    assert [{*n_rows}, {*n_alarms}, {*n_calibration}] == [{n_rows[0]}, {n_alarms[0]}, {n_calibration[0]}]
    assert len(n_rows) >= 7
    assert len(n_alarms) >= 5
    assert len(n_calibration) == 5


def of_rows(page: Page, text: str) -> list[int]:
    """The number of rows, wherever the page says it."""
    row = r"(?:row|text|sequence)s"
    one = ["(?:Rows|Texts|Sequences) scored#", "The bars are the # scored rows", f"Among # normal {row}"]
    found = [n for pattern in one for (n,) in numbers(pattern, text)]
    found += [n for _, n in numbers(rf"# of # {row}", text)]
    found += [n for _, n in numbers("# of # scored rows", page.html)]
    found.append(column_sum(page.table("Scored rows", "Calibration rows"), 1))
    bars = numbers("<title>[^<]*: # scored rows</title>", page.html)
    found += [sum(n for (n,) in bars) // 2]  # once on each scale
    return found + [rows for rows, _ in over_time(page)]


def of_alarms(page: Page, text: str) -> list[int]:
    """The number of anomalies, wherever the page says it."""
    found = [n for n, _ in numbers("# of # (?:row|text|sequence)s", text)]
    found += [n for (n,) in numbers("Anomalies# ", text)]
    found += [n for n, _ in numbers("# of # scored rows", page.html)]
    found += [n for (n,) in numbers(r"%: # anomal(?:y|ies) \(this report\)", text)]
    found += [page.data["rates"][page.data["ownRate"]]["n"], len(page.rows())]
    groups = [lines for lines in page.tables if "Highest score" in lines[0]]
    for _, *lines in groups:
        alone = numbers("; # (?:is|are) in no group", text)
        found.append(column_sum(lines, 2) + sum(n for (n,) in alone))
    above = [line for line in page.table("Scored rows", "Calibration rows") if is_above(page, line[0])]
    return [*found, column_sum(above, 1), *(alarms for _, alarms in over_time(page))]


def is_above(page: Page, scores: str) -> bool:
    threshold = page.data["rates"][page.data["ownRate"]]["thresholdText"]
    lowest = scores.removeprefix("above ").split(" to ")[0]
    return float(lowest) >= float(threshold)


def of_calibration(page: Page, text: str) -> list[int]:
    """The number of calibration rows, wherever the page says it."""
    patterns = ["The line is the # calibration rows", "The threshold is set on # normal", "Calibrated on ?# normal"]
    found = [n for pattern in patterns for (n,) in numbers(pattern, text)]
    found += {n for _, n in numbers("# of # calibration rows", page.html)}
    return [*found, column_sum(page.table("Scored rows", "Calibration rows"), 2)]


def over_time(page: Page) -> list[tuple[int, int]]:
    """Rows and anomalies of every table over time, with those that it does not show."""
    sections = [at.start() for at in re.finditer('<div class="timeline"', page.html)] + [len(page.html)]
    tables = [lines for lines in page.tables if lines[0][1:] == ["Rows", "Anomalies"]]
    parts = [page.html[begin:end] for begin, end in pairwise(sections)]
    found = []
    for (_, *lines), part in zip(tables, parts, strict=True):
        ((undated, alarms),) = numbers(r"Not shown: # rows? without a date \(# anomal", part) or [(0, 0)]
        found.append((column_sum(lines, 1) + undated, column_sum(lines, 2) + alarms))
    return found


@pytest.mark.parametrize("name", ["texts", "sequences"])
def test_odd_tokens_are_counted_alike_in_the_table_the_filter_and_the_rows(name: str) -> None:
    page = PAGES[name]()
    in_filter = dict(re.findall(r'data-name="[^"]*"[^>]*>([^<]*) \(([\d,]+)\)</option>', page.html))
    lines = {line[0]: int(line[4]) for line in page.table("Share of the anomalies", "Anomalies in which it is odd")}
    rows = [[cell for cell in row["cells"] if cell["odd"]] for row in page.rows()]
    for token, n in lines.items():
        if token.startswith("never seen before"):
            assert n == sum(any(cell["unseen"] for cell in cells) for cells in rows)
        else:
            assert n == sum(any(cell["value"] == token for cell in cells) for cells in rows)
            assert n == int(in_filter.get(token, "0"))
    assert max(lines.values()) > 0
