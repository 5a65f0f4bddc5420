"""A cell of free text is shown in the report with its odd parts shaded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.datasets.claim_notes import claim_notes

from .pages import Page, report_on

ODD = "Driver reports <b>qzxv</b> wwkjq, photos were sent."


@pytest.fixture(scope="module")
def page() -> Page:
    rng = np.random.default_rng(0)
    issue = rng.choice(["Flat Tyres", "Windscreen Crack"], 250)
    rows = pd.DataFrame({"issue": issue, "note": claim_notes(issue.tolist(), rng)})
    detector = TableDetector("kernel", columns={"note": "text"}, progress=False).fit(rows)
    return report_on(rows[:3].assign(note=["tyre is flat, photos were sent.", ODD, None]), detector)


def test_the_odd_parts_of_a_text_are_marked_without_scripts(page: Page) -> None:
    assert ">qzxv</mark>" in page.html
    assert "<b>qzxv" not in page.html


def test_the_script_gets_the_same_pieces(page: Page) -> None:
    (_, _, pieces), *_ = page.data["pieces"]
    assert "".join(text for text, _ in pieces) == ODD
    strength = dict(pieces)
    assert strength["qzxv"] > 50
    assert strength["Driver reports "] == 0


def test_the_reason_names_the_column_and_nothing_expected(page: Page) -> None:
    cell = page.rows()[0]["cells"][0]
    assert (cell["column"], cell["value"], cell["expected"]) == ("note", ODD, "")
