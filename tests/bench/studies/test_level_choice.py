"""Levels chosen from normal rows alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies.level_choice import RULES, made_up
from maskdiff.cli import main
from maskdiff.datasets import make_claims

from ...handmade import random_codes

# Three levels, four normal rows; the third level finds the made-up rows best, the second is the steadiest.
NORMAL = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 5.1, 5.2, 5.3], [1.0, 9.0, 1.0, 9.0]])
MADE_UP = np.array([[1.5, 2.5], [5.0, 5.15], [20.0, 30.0]])


def test_rules_weigh_levels_by_what_normal_rows_say() -> None:
    weights = {name: rule(NORMAL, MADE_UP) for name, rule in RULES.items()}
    assert weights["all levels"].tolist() == [1, 1, 1]
    assert weights["the best for made-up rows"].tolist() == [0, 0, 1]
    assert weights["on one scale"].argmax() == 1
    assert (weights["the three steadiest"] > 0).all()


def test_made_up_rows_hold_cells_of_other_rows() -> None:
    codes = random_codes(300, [5] * 10)
    changed = made_up(codes, np.random.default_rng(0))
    for field in range(10):  # cells change places, so that each value stays about as common
        before, after = (np.bincount(part.values[:, field], minlength=5) for part in (codes, changed))
        assert np.abs(before - after).max() < 30
    assert 0.1 < (codes.values != changed.values).mean() < 0.3


def test_the_command_measures_every_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hardly_trained: None) -> None:
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=200, seed=0))
    sets.load_set.cache_clear()
    out = tmp_path / "out.jsonl"
    assert main(["bench", "level-choice", "--sets", "tiny", "--device", "cpu", "--out", str(out), "--quiet"]) == 0
    (record,) = read_records(out)
    assert list(record["rules"]) == list(RULES)
    assert record["roc_auc"] == record["rules"]["all levels"]["roc_auc"]
    assert len(record["levels"]) == 9
    sets.load_set.cache_clear()
