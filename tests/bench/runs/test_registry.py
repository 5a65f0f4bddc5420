"""A baseline from outside: one class, one line in the registry, and every command of the benchmark knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.methods import METHODS, on_one_hot, on_tables
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.tables.summary import summary
from maskdiff.cli import main


class Rarity:
    """How few of the normal rows share a row's values, column by column."""

    def __init__(self, *, seed: int = 0, device: str = "cpu") -> None:
        self.seed = seed

    def fit(self, X: Any) -> Self:
        self.shares_ = np.asarray(X, dtype=np.float64).mean(axis=0)
        return self

    def anomaly_score(self, X: Any) -> Any:
        return -(np.asarray(X, dtype=np.float64) @ self.shares_)


class NumberOfB:
    """How many cells of a row hold "b"."""

    def __init__(self, *, seed: int = 0, device: str = "cpu") -> None:
        self.seed = seed

    def fit(self, X: pd.DataFrame) -> Self:
        return self

    def anomaly_score(self, X: pd.DataFrame) -> Any:
        return (X == "b").sum(axis=1).to_numpy(dtype=np.float64)


def test_a_baseline_registered_from_outside_is_measured_and_summarised(
    labelled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "rarity", on_one_hot(Rarity))
    monkeypatch.setitem(METHODS, "number-of-b", on_tables(NumberOfB))
    monkeypatch.setitem(sets.GENERATED, "claims", lambda: labelled)
    sets.load_set.cache_clear()
    out = tmp_path / "out.jsonl"
    arguments = ["--sets", "claims", "--methods", "rarity,number-of-b", "--seeds", "1", "--device", "cpu"]
    assert main(["bench", "tables", *arguments, "--out", str(out), "--quiet"]) == 0
    sets.load_set.cache_clear()
    records = read_records(out)
    assert {record["method"]: record["roc_auc"] for record in records} == {"rarity": 1.0, "number-of-b": 1.0}
    assert "| rarity | 100.00 |" in summary(records).markdown
