"""Every table of the paper beside ours."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from maskdiff.bench.pages.differences import differences
from maskdiff.bench.pages.paper import Reasons, paper_page
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.published.values import published_results, published_texts

from .test_pages import RECORDS


@pytest.fixture(scope="module")
def page() -> str:
    return "\n\n".join(paper_page(RecordFolder(RECORDS)))


def test_every_published_method_and_set_has_its_cell(page: str) -> None:
    for table in (published_results(), published_texts()):
        for method in table["method"].unique():
            assert f"| {method} |" in page
    assert all(f" {name} |" in page for name in published_results()["set"].unique())


def test_no_cell_is_empty_without_a_reason(page: str) -> None:
    assert re.findall(r"not run(?! \(\d+\)).*", page.split("## Why cells were not run")[0]) == []
    numbers = {int(number) for number in re.findall(r"not run \((\d+)\)", page)}
    assert numbers == set(range(1, len(numbers) + 1))
    assert all(f"- ({number}) " in page for number in numbers)


def test_the_first_reason_that_fits_counts_and_is_numbered_once() -> None:
    reasons = Reasons(
        [
            {"table": "tables", "methods": ["A*"], "sets": ["x"], "why": "too long"},
            {"table": "tables", "methods": ["*"], "sets": ["*"], "why": "no file"},
        ]
    )
    cells = [reasons.cell("tables", *each) for each in (("B", "x"), ("Ab", "x"), ("Ab", "y"), ("B", "x"))]
    assert cells == ["not run (1)", "not run (2)", "not run (1)", "not run (1)"]
    assert reasons.cell("text", "B", "x") == "not run"
    assert reasons.listed() == "- (1) no file\n- (2) too long"


def test_both_losses_stand_side_by_side(page: str) -> None:
    assert "| set | mlp-paper (Eq. 8) | mlp-diffusion (Eq. 2) |" in page


def test_a_mean_that_is_far_away_says_why() -> None:
    line = {"metric": "roc_auc", "published_mean": 60.0, "published_std": 1.0}
    table = pd.DataFrame(
        [
            {"method": "a", "set": "x", "mean": 70.0, "std": 1.0, "deviations": 10.0, **line},
            {"method": "a", "set": "y", "mean": 70.0, "std": 8.0, "deviations": 10.0, **line},
            {"method": "a", "set": "z", "mean": 70.0, "std": 1.0, "deviations": 10.0, **line},
            {"method": "b", "set": "x", "mean": 60.5, "std": 1.0, "deviations": 0.5, **line},
        ]
    )
    found = differences(table, [{"methods": ["a"], "sets": ["x"], "why": "Another split."}])
    assert "| a | x | ROC-AUC | 70.00 ± 1.00 | 60.00 ± 1.00 | +10.0 | Another split. |" in found
    assert (
        "| a | y | ROC-AUC | 70.00 ± 8.00 | 60.00 ± 1.00 | +10.0 | Within two deviations of our own seeds. |" in found
    )
    assert "| a | z | ROC-AUC | 70.00 ± 1.00 | 60.00 ± 1.00 | +10.0 | No cause was found. |" in found
    assert "| b |" not in found
