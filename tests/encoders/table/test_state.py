"""The state of an encoder: plain values that come back as the same encoder, and nothing else."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import LeftOutWarning, ModelFileError

SRC = Path(__file__).resolve().parents[3] / "src"
FRAME = pd.DataFrame(
    {
        "id": range(40),
        "word": ["a", "b", None, "c", "d"] * 8,
        "few": [1, 0.1 + 0.2, 2**60 + 1, 1, 3] * 8,
        "many": np.random.default_rng(1).normal(size=40) * 1e-7,
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(40), unit="D"),
        "yes": [True, False] * 20,
        "note": ["x"] * 40,
    }
)


@pytest.fixture
def encoder() -> TableEncoder:
    with pytest.warns(LeftOutWarning):
        return TableEncoder({"note": "drop", "few": "category"}, max_categories=3).fit(FRAME)


def test_an_encoder_comes_back_from_json_exactly(encoder: TableEncoder) -> None:
    state = encoder.to_state()
    back = TableEncoder.from_state(json.loads(json.dumps(state, allow_nan=False)))
    assert back.to_state() == state
    assert back.schema_ == encoder.schema_
    assert back.left_out_ == encoder.left_out_
    assert back.summary() == encoder.summary()
    assert back.named_ == encoder.named_
    assert back.feature_names_in_.tolist() == encoder.feature_names_in_.tolist()
    assert back.columns == encoder.columns
    odd = FRAME.assign(word=FRAME["word"].fillna("e"), many=FRAME["many"] * 2)
    for table in (FRAME, odd, FRAME.to_numpy()):
        assert back.encode(table).values.tolist() == encoder.encode(table).values.tolist()


def test_folded_values_too_many_to_remember_come_back_so() -> None:
    encoder = TableEncoder(max_categories=1, max_distinct=2).fit([["a"], ["a"], ["b"], ["c"]])
    back = TableEncoder.from_state(json.loads(json.dumps(encoder.to_state())))
    assert back.encode([["z"]]).values.tolist() == [[1]]
    assert back.columns is None


def at(state: Any, *path: Any) -> Any:
    for step in path:
        state = state[step]
    return state


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("settings",), {"bins": 10, "surprise": 1}),
        (("settings", "bins"), "ten"),
        (("settings", "columns"), {"word": "eval"}),
        (("names",), ["id", "word"]),
        (("names", 1), "id"),
        (("names",), None),
        (("left_out",), []),
        (("missing", "word"), "half"),
        (("columns",), []),
        (("columns", 0), None),
        (("columns", 0, "name"), "other"),
        (("columns", 0, "type"), "secret"),
        (("columns", 0, "type"), ["category"]),
        (("columns", 0, "labels"), ["a"]),
        (("columns", 0, "labels"), [1, 2, 3, 4, 5]),
        (("columns", 0, "counts"), [8, 8, 8, 8, 0]),
        (("columns", 0, "counts"), []),
        (("columns", 0, "counts", 0), 8.5),
        (("columns", 0, "singletons"), None),
        (("columns", 0, "levels"), ["a", "b"]),
        (("columns", 0, "levels"), ["a", "a", "b"]),
        (("columns", 0, "levels"), ["a", "b", 5]),
        (("columns", 0, "levels"), ["a", "b", ["c"]]),
        (("columns", 0, "folded"), 7),
        (("columns", 0, "has_missing"), "yes"),
        (("columns", 0, "has_missing"), False),
        (("columns", 2, "edges"), [1.0, 0.5]),
        (("columns", 2, "edges", 0), "low"),
        (("columns", 2, "edges", 0), float("nan")),
        (("columns", 2, "type"), "category"),
    ],
    ids=str,
)
def test_a_state_that_contradicts_itself_is_refused(encoder: TableEncoder, path: Any, value: Any) -> None:
    state = copy.deepcopy(encoder.to_state())
    at(state, *path[:-1])[path[-1]] = value
    with pytest.raises(ModelFileError):
        TableEncoder.from_state(state)


@pytest.mark.parametrize("key", ["settings", "names", "named", "left_out", "missing", "columns"])
def test_a_state_with_a_part_missing_is_refused(encoder: TableEncoder, key: str) -> None:
    state = encoder.to_state()
    del state[key]
    with pytest.raises(ModelFileError, match=key):
        TableEncoder.from_state(state)


@pytest.mark.parametrize("state", [None, [], "state", {}, {"columns": {}}], ids=str)
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ModelFileError):
        TableEncoder.from_state(state)


def test_encoding_needs_no_torch() -> None:
    code = "import sys, maskdiff.encoders.table.encoder; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SRC)}, check=False)
    assert done.returncode == 0
