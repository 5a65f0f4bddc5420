"""How notebooks show explanations."""

from __future__ import annotations

import re

import pandas as pd

from maskdiff.explanations.table import Explanation

HOSTILE = "<img src=x onerror=alert(1)>"


def make(n: int = 2) -> Explanation:
    values = {"row": range(n), "column": HOSTILE, "value": HOSTILE, "contribution": [float(i + 1) for i in range(n)]}
    return Explanation(pd.DataFrame(values | {"share": 0.5, "surprise": 1.23456}, index=[HOSTILE] * n))


def test_contributions_are_bars_as_long_as_they_are_large():
    widths = [int(width) for width in re.findall(r"width:(\d+)px", make()._repr_html_())]
    assert widths == [40, 80]


def test_whatever_the_cells_hold_is_escaped():
    page = make()._repr_html_()
    assert "<img" not in page
    assert page.count("&lt;img") == 6


def test_the_bars_are_those_of_all_cells_but_long_tables_are_cut():
    with pd.option_context("display.max_rows", 10):
        page = make(25)._repr_html_()
    assert page.count("<tr>") == 11
    assert "and 15 more cells" in page
    assert max(map(int, re.findall(r"width:(\d+)px", page))) == 32


def test_parts_without_contributions_are_shown_as_pandas_does():
    part = make()[["row", "value"]]
    assert part._repr_html_() == pd.DataFrame(part)._repr_html_()


def test_no_cells_at_all_are_an_empty_table():
    assert "<tbody></tbody>" in make(0)._repr_html_()
