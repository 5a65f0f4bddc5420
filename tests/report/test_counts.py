"""Every count on the page agrees with every other, and one definition says what is odd."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

from maskdiff import TableDetector

from ..conftest import make_connections
from .pages import Page, report_on
from .samples import combined_detector, odd_connections, some_texts, text_detector


@cache
def prices_page() -> Page:
    """Connections with prices; some prices are far below all learned ones, in rows that are odd elsewhere too."""
    rng = np.random.default_rng(0)
    normal = make_connections(500, seed=7).assign(price=rng.gamma(3, 2000, 500).round())
    detector = TableDetector("kernel", progress=False).fit(normal)
    X = odd_connections(200).assign(price=rng.gamma(3, 2000, 200).round())
    X.loc[:19, ["price", "service", "flag", "protocol"]] = [-146359, "gopher", "NONE", "sctp"]
    X.loc[20:29, "price"] = -5
    return report_on(X, detector)


def numbers(page: Page, heads: tuple[str, str], column: int) -> dict[str, int]:
    return {line[0]: int(line[column].replace(",", "")) for line in page.table(*heads)}


def test_a_price_beyond_all_learned_ones_is_odd() -> None:
    rows = {row["number"]: row for row in prices_page().rows()}
    assert {*range(20)} <= {*rows}
    assert all("price" in rows[number]["odd"] for number in range(30) if number in rows)


def test_every_new_value_among_the_explained_cells_is_odd() -> None:
    cells = [cell for row in prices_page().rows() for cell in row["cells"]]
    assert any(cell["unseen"] for cell in cells)
    assert all(cell["odd"] for cell in cells if cell["unseen"])


def test_odd_columns_are_counted_alike_in_the_table_the_filter_and_the_rows() -> None:
    page = prices_page()
    in_table = numbers(page, ("Column", "Anomalies in which it is odd"), 4)
    in_filter = dict(re.findall(r'data-name="[^"]*">([^<]*) \(([\d,]+)\)</option>', page.html))
    for name, n in in_table.items():
        assert n == sum(name in row["odd"] for row in page.rows())
        assert n == int(in_filter.get(name, "0"))


def test_groups_and_the_anomalies_in_no_group_are_all_anomalies() -> None:
    page = prices_page()
    in_groups = sum(int(line[2]) for line in page.table("Odd columns", "Highest score"))
    alone = re.search(r"(\d+) (?:is|are) in no group", page.text)
    assert in_groups + int(alone[1] if alone else 0) == len(page.rows())


def test_the_bars_above_the_threshold_hold_the_anomalies() -> None:
    page = prices_page()
    above = re.search(r"([\d,]+) of ([\d,]+) scored rows", page.html)
    assert above is not None
    assert (int(above[1]), int(above[2])) == (len(page.rows()), 200)


def test_rows_that_cannot_be_judged_count_nowhere_but_in_their_own_sentence() -> None:
    page = report_on(some_texts(26, "claim cash", "", "", "", ""), text_detector())
    text = " ".join(page.text.split())
    assert re.search(r"\d+ of 27 texts", text)
    assert "Texts scored27" in text
    assert "The bars are the 27 scored rows." in text
    assert "Among 27 normal texts" in text
    assert "4 texts without any token could not be judged." in text


def test_intervals_are_written_in_one_way() -> None:
    page = prices_page()
    assert re.search(r"[\d.]+ to [\d.]+", page.text)
    assert not re.search(r"[(\[][\d.]+, [\d.]+\]", page.text)
    assert not [text for column in page.data["columns"] for text in column["texts"] if text.endswith("]")]


def test_the_model_is_described_in_words() -> None:
    page = report_on(odd_connections(20), combined_detector())
    text = " ".join(page.text.split())
    assert "a neural network width 256, layers 3" in text
    assert "the nearest normal rows" in text
    assert not re.search(r"\w+\(\w+=|=None|\w+Reconstructor", text)


def test_notes_of_explained_cells_are_shown() -> None:
    page = prices_page()
    assert page.data["notes"]
    row, at, note = page.data["notes"][0]
    assert page.rows()[row]["cells"][at]["unseen"]
    assert note in page.text
