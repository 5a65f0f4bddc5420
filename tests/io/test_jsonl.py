"""JSON Lines: what JSON can say comes back, and bad lines are named."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.errors import BadLineError

from .written import csv_file, texts, write


def test_columns_of_any_type_can_be_written_as_json_lines(tmp_path):
    table = pa.table({"x": [float("inf")], "when": pa.array([pd.Timestamp("2024-02-29")]), "many": [[1.0, None]]})
    write(tmp_path / "rows.jsonl", table)
    assert json.loads((tmp_path / "rows.jsonl").read_text()) == {
        "x": None,
        "when": "2024-02-29T00:00:00",
        "many": [1.0, None],
    }


def test_a_bad_json_line_is_named_and_can_be_skipped(tmp_path):
    path = csv_file(tmp_path, '{"a": 1}\n{"a": \n[1]\n{"a": 2}\n', "rows.jsonl")
    with pytest.raises(BadLineError, match="line 2: no JSON object"):
        texts(path)
    assert texts(path, on_bad_lines="skip").to_pydict() == {"a": [1, 2]}
