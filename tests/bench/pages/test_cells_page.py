"""The page on wrong cells, from records made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maskdiff.bench.pages.cells import cells_page
from maskdiff.bench.pages.records import RecordFolder

from ..made_records import record

PLANTED = {
    "n": 200,
    "roc_auc": 0.9,
    "found": 100,
    "first": 150,
    "first_found": 90,
    "three": 180,
    "three_found": 99,
    "right": 120,
    "right_first": 60,
}
CELLS = {
    **{"n_cells": 1000, "n_wrong": 50, "average_precision": 0.75, "precision_at_k": 0.5},
    "by_way": {"contradiction": {"n": 25, "found": 20}, "typo": {"n": 25, "found": 5}},
}


def made(name: str, method: str, seed: int, **content: Any) -> dict[str, Any]:
    return record(name, method, seed, 0.0, versions={"python": "3", "torch": "2.13.0"}, **content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ways = {"another row's value": PLANTED, "contradiction": PLANTED | {"pair": 180, "pair_found": 95}}
    rows = {"planted": {**ways, "never seen": {"n": 0}}, "n_normal": 1000, "n_calibration": 2000}
    few = PLANTED | {"roc_auc": 0.7, "found": 0, "first_found": 0, "three_found": 0}
    other = {**rows, "planted": rows["planted"] | {"another row's value": few}}
    records = [
        made("bank", "default", 0, false_alarms={"0.01": 8}, **rows),
        made("bank", "default", 1, false_alarms={"0.01": 300}, **other),
        made("bank+2%", "pairs", 0, cells=CELLS),
        made("bank+2%", "default", 0, cells=CELLS | {"reported": 40, "reported_wrong": 30, "reported_right": 24}),
    ]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    return tmp_path


def test_shares_are_taken_of_the_rows_they_belong_to(folder: Path) -> None:
    page = "\n\n".join(cells_page(RecordFolder(folder)))
    assert "| bank | default | 25.0 | 80.0 | 90.0 | 99.0 | 75.0 | 90.0 | 40.0 |\n" in page
    assert "| bank | default | 50.0 | 90.0 | 90.0 | 99.0 | 75.0 | 90.0 | 40.0 | 95.0 |" in page
    assert "named first: contradiction 50.0% (90.0%), another row's value 25.0% (90.0%)." in page
    assert "| bank | default | 1000 | 15.40 ± 20.65 | 1 of 2 |" in page


def test_anomalies_of_the_table_itself_have_a_section_and_no_part_in_what_was_planted(folder: Path) -> None:
    rows = {"planted": {"tampered": PLANTED | {"right": None, "right_first": None}}, "n_normal": 9, "n_calibration": 99}
    with (folder / "cells.jsonl").open("a") as file:
        file.write(json.dumps(made("claims", "default", 0, false_alarms={"0.01": 0}, **rows)) + "\n")
    page = "\n\n".join(cells_page(RecordFolder(folder)))
    own = page.split("## Not planted: the table's own anomalies")[1]
    assert "| claims | default | 50.0 | 90.0 | 90.0 | 99.0 | 75.0 | 90.0 |  |\n" in own
    assert "named first: contradiction 50.0% (90.0%), another row's value 25.0% (90.0%)." in page


def test_files_are_ranked_by_share_and_reported_cells_are_shown_where_there_are_any(folder: Path) -> None:
    page = "\n\n".join(cells_page(RecordFolder(folder)))
    assert "| bank | counts of pairs |  | 75.0 / 50.0 |  |" in page
    assert "| method | contradiction | typo |\n|---|---|---|\n| counts of pairs | 80.0 | 20.0 |" in page
    assert "| bank, 2% | default | 40.0 | 60.0 | 25.0 | 80.0 |" in page


def test_the_cost_of_single_cells_is_that_beside_the_score_alone(folder: Path) -> None:
    size = {"rows": 10_000, "columns": 17, "threads": 2}
    timed = [
        made("10000 x 17", "whole-grid", 0, score_processor_seconds=20.0, **size),
        made("10000 x 17", "whole-grid-cells", 0, score_processor_seconds=23.0, **size),
        made("500 x 17", "whole-grid", 0, score_processor_seconds=1.0, **size | {"rows": 500}),
    ]
    (folder / "cell-cost.jsonl").write_text("".join(json.dumps(each) + "\n" for each in timed))
    page = "\n\n".join(cells_page(RecordFolder(folder)))
    assert "| 10,000 | 17 | 20.0 s | 23.0 s | 1.15 times |" in page
    assert "| 500 |" not in page


def test_nothing_measured_is_no_page(folder: Path) -> None:
    (folder / "cells.jsonl").rename(folder / "other.jsonl")
    assert cells_page(RecordFolder(folder)) == []
