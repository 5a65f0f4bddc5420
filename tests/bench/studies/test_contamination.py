from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.runs.sets import train_and_test
from maskdiff.bench.studies.contamination import Contamination, alarm_share, training_rows
from maskdiff.cli import main
from maskdiff.datasets import make_claims
from maskdiff.errors import InputError
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.training import Steps, Training


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A table of claims with 27 anomalies."""
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    sets.load_set.cache_clear()
    yield "tiny"
    sets.load_set.cache_clear()


def test_the_share_of_anomalies_is_the_one_named_and_the_rows_to_score_stay_the_same(tiny: str) -> None:
    task = Contamination()
    _, y = sets.load_set(tiny, None)
    train, test = train_and_test(y, 3)
    for name in task.set_names([tiny]):
        rows = training_rows(y, train, float(name.split("+")[1].rstrip("%")) / 100, seed=3)
        assert y[rows].mean() == pytest.approx(float(name.split("+")[1].rstrip("%")) / 100, abs=0.003)
        assert not set(rows) & set(test)
        np.testing.assert_array_equal(task.split(Run(name, "default", 3)).y, y[test])


def test_a_table_is_given_only_the_shares_it_has_anomalies_for(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.repeat([0, 1], [970, 30]).astype(np.int8)
    monkeypatch.setattr("maskdiff.bench.studies.contamination.load_set", lambda name, data: (None, y))
    assert Contamination().set_names(["bank"]) == ["bank+0%", "bank+1%", "bank+2%"]
    with pytest.raises(InputError, match="a share of 5% needs 36 anomalies; the training rows hold 21"):
        training_rows(y, train_and_test(y, 0)[0], 0.05, seed=0)


def test_the_command_measures_every_share_with_and_without_the_setting(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = MLPReconstructor(training=Training(Steps(2)))
    monkeypatch.setattr(
        "maskdiff.bench.studies.contamination.SETTINGS",
        {"plain score": lambda share: {"reconstructor": quick, "contamination": share}},
    )
    out = tmp_path / "out.jsonl"
    assert main(["bench", "contamination", "--sets", tiny, "--seeds", "1", "--out", str(out), "--quiet"]) == 0
    records = read_records(out)
    assert [record["set"] for record in records] == [f"tiny+{share}%" for share in (0, 1, 2, 5)]
    assert {record["task"] for record in records} == {"contamination"}
    assert all(0 <= alarm_share(record) <= 1 for record in records)


def test_the_alarm_share_is_read_from_records_of_either_form() -> None:
    assert alarm_share({"false_alarms_at_5%": 0.04}) == 0.04
    assert alarm_share({"false_alarms": {"0.01": 1, "0.05": 6}, "n_normal": 200}) == 0.03
