"""The page on one file without labels, from records made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maskdiff.bench.pages.find import find_page
from maskdiff.bench.pages.records import RecordFolder


def made(name, method, seed, **found):
    place = {"device": "cpu", "threads": 1, "versions": {"torch": "2.0"}}
    return {"task": "find", "set": name, "method": method, "seed": seed, "status": "ok", **place, **found}


FOUND = {"n_rows": 1000, "n_odd": 50, "reported": 20, "false": 2, "possible": 20}
FOUND |= {"estimated": 30, "low": 16, "high": 290}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [
        made("bank", "find", 0, roc_auc=0.7, pr_auc=0.2, **FOUND),
        made("bank", "iforest", 0, roc_auc=0.6, pr_auc=0.1),
        made("solar", "find", 0, roc_auc=0.9, pr_auc=0.4, **FOUND),  # no forest there, so not in the means
        made("claims@5%", "find", 0, roc_auc=0.8, pr_auc=0.3, **FOUND),
        made("claims@5%", "find", 1, roc_auc=0.8, pr_auc=0.3, **FOUND | {"reported": 0, "false": 0, "high": 40}),
        made("40,000 claims", "find", 0, fit_seconds=2.0, score_seconds=1.0, find_seconds=15.0, ratio=5.0),
        made("claims@0%", "find", 0, roc_auc=None, pr_auc=None, **FOUND | {"n_odd": 0, "low": 0}),
    ]
    (tmp_path / "find.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def test_methods_are_compared_on_the_tables_that_all_of_them_have(folder):
    page = "\n\n".join(find_page(RecordFolder(folder)))
    assert "| bank | 70.0 / 20.0 | 60.0 / 10.0 |" in page
    assert "| mean of 1 | 70.0 / 20.0 | 60.0 / 10.0 |" in page
    assert "| solar | 1,000 | 50 | 20 | 2 | 30 (16 to 290) |" in page


def test_rates_are_means_over_repetitions_and_files_without_odd_rows_are_among_them(folder):
    page = "\n\n".join(find_page(RecordFolder(folder)))
    assert "| find | 5% | 2 | 10.0 | 5.0 | 18.0 | 40.0 | 1 of 2 |" in page
    assert "| find | 0% | 1 | 20.0 | 10.0 |  |  | 1 of 1 |" in page


def test_the_cost_of_a_search_stands_beside_that_of_a_plain_fit(folder):
    page = "\n\n".join(find_page(RecordFolder(folder)))
    assert "| find, 40,000 claims | cpu, one thread | 2.0 | 1.0 | 15.0 | 5.0 |" in page


def test_without_records_there_is_no_page(folder):
    (folder / "find.jsonl").rename(folder / "other.jsonl")
    assert find_page(RecordFolder(folder)) == []
