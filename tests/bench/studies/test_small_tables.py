from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import small_tables
from maskdiff.bench.studies.small_tables import SmallTables
from maskdiff.cli import main
from maskdiff.datasets import make_claims
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.training import Steps, Training


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=600, seed=0))
    sets.load_set.cache_clear()
    yield "tiny"
    sets.load_set.cache_clear()


def test_few_rows_are_learned_from_and_the_rows_to_score_stay_the_same(tiny: str) -> None:
    task = SmallTables()
    splits = [task.split(Run(f"{tiny}@{number}", "all rows calibrate", 1)) for number in (50, 200)]
    assert [len(split.normal) for split in splits] == [50, 200]
    np.testing.assert_array_equal(splits[0].y, splits[1].y)


def test_the_command_measures_both_calibrations(tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"reconstructor": MLPReconstructor(16, 2, training=Training(Steps(2)))}
    both = {name: {**settings, **quick} for name, settings in small_tables.SETTINGS.items()}
    monkeypatch.setattr(small_tables, "SETTINGS", both)
    out = tmp_path / "out.jsonl"
    assert main(["bench", "small-tables", "--sets", tiny, "--seeds", "1", "--out", str(out), "--quiet"]) == 0
    records = {(record["set"], record["method"]): record for record in read_records(out)}
    assert records["tiny@300", "all rows calibrate"]["n_calibration"] == 300
    assert records["tiny@300", "rows are kept back"]["n_calibration"] == 100
