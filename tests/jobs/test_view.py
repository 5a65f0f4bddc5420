"""Rows of a file as a page shows them: judged once, with the sections of a report beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.errors import UnknownColumnError
from maskdiff.jobs import FindOutput, find_file, preview_file, view_file

from ..conftest import make_connections


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """64 connections; the last four have a service and a number of bytes that were never seen."""
    path, rows = tmp_path / "odd.csv", make_connections(64, seed=1)
    rows.loc[60:, ["service", "bytes"]] = ["gopher", 900_000]
    rows.to_csv(path, index=False)
    return path


def test_every_row_comes_with_its_verdict_and_the_sections_say_the_same(tmp_path: Path, odd: Path) -> None:
    detector = TableDetector("kernel").fit(make_connections(600, seed=7))
    out, sections = tmp_path / "rows.csv", tmp_path / "sections.json"
    summary = view_file(detector, str(odd), str(out), str(sections), prefix="new_")
    found, said = pd.read_csv(out), json.loads(sections.read_text())
    verdicts = detector.judge(pd.read_csv(odd))
    np.testing.assert_allclose(found["new_anomaly_score"], verdicts.anomaly_score)
    assert found["new_is_anomaly"].sum() == summary.anomalies == said["alarms"] > 0
    assert (said["rows"], said["parts"]) == (64, "columns")
    assert {"groups", "drift", "scores", "columns"} <= set(said["html"])
    assert all(1 <= number <= 64 for group in said["group_rows"] for number in group)


def test_a_search_names_reasons_for_as_many_rows_as_it_is_asked_to(tmp_path: Path, odd: Path) -> None:
    out, sections = tmp_path / "found.csv", tmp_path / "sections.json"
    output = FindOutput(top=64, explain=2, explain_rows=5, sections=str(sections))
    find_file(str(odd), str(out), detector=TableDetector("kernel"), output=output)
    found = pd.read_csv(out)
    assert len(found) == 64
    assert found["reason_1"].notna().tolist() == [True] * 5 + [False] * 59
    assert json.loads(sections.read_text())["judged"] == 64


def test_a_preview_says_how_columns_are_read_and_follows_what_is_given(odd: Path) -> None:
    types = {column["name"]: column["type"] for column in preview_file(str(odd)).columns}
    assert (types["protocol"], types["bytes"]) == ("category", "number")
    asked = preview_file(str(odd), columns={"bytes": "category", "flag": "drop"})
    given = {column["name"]: column for column in asked.columns}
    assert given["bytes"]["type"] == "category"
    assert given["flag"]["left_out"]
    assert (asked.rows, asked.looked_at) == (64, 64)
    with pytest.raises(UnknownColumnError, match="colour"):
        preview_file(str(odd), columns={"colour": "number"})
