from __future__ import annotations

import numpy as np
import pytest

from maskdiff.bench.tables.alarms_and_evidence import alarm_table, evidence_table, promised
from maskdiff.bench.tables.summary import summary
from maskdiff.calibration import Calibration


def record(seed: int, alarms: int) -> dict[str, object]:
    return {
        **{"set": "bank", "method": "default", "seed": seed, "status": "ok", "device": "cpu", "threads": 1},
        **{"versions": {}, "roc_auc": 0.9, "pr_auc": 0.5, "fit_seconds": 1.0, "score_seconds": 1.0},
        **{"n_normal": 1000, "n_calibration": 999, "false_alarms": {"0.01": 10, "0.05": alarms}},
        "added_up": {"network mean": [0.8, 0.4 + 0.1 * seed], "kernel mean": [0.9, 0.5]},
    }


def test_calibrated_scores_keep_the_promise_and_it_is_not_far_too_wide() -> None:
    rng = np.random.default_rng(0)
    most = promised(0.05, 200, 300)
    kept = []
    for _ in range(2000):
        p_value = Calibration.from_scores(rng.normal(size=200)).p_values(rng.normal(size=300))
        kept.append((p_value <= 0.05).sum() <= most)
    assert 0.985 <= np.mean(kept) < 0.999


def test_too_few_calibration_rows_promise_no_alarm() -> None:
    assert promised(0.01, 50, 1000) == 0


def test_runs_that_break_the_promise_are_counted() -> None:
    (line,) = alarm_table([record(0, 50), record(1, 300)]).to_dict("records")
    assert (line["runs"], line["kept, 1%"], line["kept, 5%"]) == (2, 2, 1)
    assert line["at 5%"] == pytest.approx(17.5)


def test_evidence_is_averaged_over_seeds_and_sets() -> None:
    table = evidence_table([record(0, 50), record(1, 50)])
    assert table.columns.tolist() == ["method", "set", "+ network mean", "+ kernel mean"]
    assert table.to_numpy().tolist() == [
        ["default", "bank", "80.0 / 45.0", "90.0 / 50.0"],
        ["default", "mean", "80.0 / 45.0", "90.0 / 50.0"],
    ]


def test_the_summary_shows_both_only_where_records_tell() -> None:
    found = summary([record(0, 50), record(1, 50)])
    assert {"false_alarms.csv", "evidence.csv"} <= set(found.csv)
    bare = {k: v for k, v in record(0, 50).items() if k not in ("false_alarms", "added_up")}
    assert "evidence.csv" not in summary([bare]).csv
