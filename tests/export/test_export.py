"""An exported model gives the scores of the detector it came from, without torch and all that goes with it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, Training, save
from maskdiff.errors import SettingError
from maskdiff.export import export_model
from maskdiff.runtime import Scorer

from ..cli.running import call
from ..conftest import make_connections

pytest.importorskip("onnxruntime")

QUICK = Training(Steps(30), batch_size=64, learning_rate=3e-3)
SMALL = MLPReconstructor(16, 3, training=QUICK)
PROBES = ProbeGrid((0.2, 0.6), 3)


def normal(n: int, seed: int) -> pd.DataFrame:
    """Categories, truth values, missing cells, numbers in bins and as levels."""
    rng = np.random.default_rng(seed)
    rows = make_connections(n, seed=seed).assign(secure=rng.random(n) < 0.4, size=rng.normal(50, 9, n).round(2))
    return rows.assign(retries=np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 3, n)))


def odd() -> pd.DataFrame:
    rows = normal(12, seed=9).astype({"service": object, "flag": object, "secure": object})
    rows.loc[:3, "service"] = ["gopher", None, "NA", "http"]
    rows.loc[2:5, "size"] = [1e9, -500.0, np.inf, np.nan]
    rows.loc[3:4, "retries"] = [7, -2]
    rows.loc[6:7, "secure"] = ["true", "maybe"]
    return rows


def wide(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    return pd.DataFrame({f"c{at}": [f"v{k}" for k in (group + rng.integers(0, 2, n)) % 4] for at in range(15)})


def as_columns(rows: pd.DataFrame) -> dict[str, list[object]]:
    return {name: rows[name].tolist() for name in rows}


@pytest.fixture
def combined(monkeypatch):
    presets = {None: TableDetector._presets[None] | {"combined": (lambda: SMALL, PROBES)}}
    monkeypatch.setattr(TableDetector, "_presets", presets)


CASES = {
    "default": {},
    "network": {"reconstructor": SMALL, "probes": PROBES, "aggregate": "rms"},
    "level": {"reconstructor": MLPReconstructor(16, 2, 4, 0.1, True, QUICK), "probes": PROBES, "cell_share": 0.0},
    "kernel": {"reconstructor": "kernel", "aggregate": "max"},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("combined")
def test_scores_p_values_and_alarms_are_those_of_the_detector(name, tmp_path):
    detector = TableDetector(progress=False, cross_fit_up_to=0, **CASES[name]).fit(normal(300, seed=1))
    export_model(detector, tmp_path / "out")
    rows = odd()
    verdicts, wanted = Scorer(tmp_path / "out").judge(as_columns(rows)), detector.with_effort("full").judge(rows)
    np.testing.assert_allclose(verdicts.score, wanted.anomaly_score, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(verdicts.alarm_score, wanted.alarm_score, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(verdicts.p_value, wanted.p_value)
    np.testing.assert_array_equal(verdicts.is_anomaly, wanted.is_anomaly)
    assert (tmp_path / "out" / "network.onnx").exists() == (name != "kernel")


def test_many_columns_are_compared_as_the_detector_compares_them(tmp_path):
    detector = TableDetector("kernel", progress=False).fit(wide(200, seed=1))
    export_model(detector, tmp_path / "out")
    rows = wide(20, seed=2)
    rows.loc[0, "c3"] = "never seen"
    scores = Scorer(tmp_path / "out").score(as_columns(rows))
    np.testing.assert_allclose(scores, detector.anomaly_score(rows), rtol=1e-5, atol=1e-5)


def dated(n: int, seed: int) -> pd.DataFrame:
    """Losses in office hours of working days, told some days later."""
    rng = np.random.default_rng(seed)
    loss = pd.bdate_range("2024-01-01", periods=60)[rng.integers(0, 60, n)] + pd.to_timedelta(
        rng.integers(8, 12, n), "h"
    )
    told = loss.normalize() + pd.to_timedelta(rng.integers(0, 9, n), "D")
    return make_connections(n, seed=seed).assign(loss=loss, told=told)


def test_dates_and_what_is_computed_from_them_are_read_as_the_detector_reads_them(tmp_path):
    detector = TableDetector("kernel", progress=False).fit(dated(300, seed=1))
    assert len(detector.encoder_.derived_fields()) >= 3
    export_model(detector, tmp_path / "out")
    scorer, rows = Scorer(tmp_path / "out"), dated(8, seed=2)
    rows.loc[0, "told"] = pd.Timestamp("2023-01-01")
    rows.loc[1, "loss"] = pd.Timestamp("2999-12-31")
    rows.loc[2, "told"] = pd.NaT
    wanted = detector.judge(rows)
    for given in (as_columns(rows), as_columns(rows.assign(loss=rows["loss"].dt.strftime("%Y-%m-%dT%H:%M:%S")))):
        np.testing.assert_allclose(scorer.judge(given).score, wanted.anomaly_score, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(scorer.judge(given).p_value, wanted.p_value)
    with pytest.raises(ValueError, match=r"column 'loss': '31\.12\.2024' is no date in ISO format"):
        scorer.score(as_columns(rows.assign(loss="31.12.2024")))


WITHOUT_TORCH = """
import json, sys
for name in ("torch", "pandas", "pyarrow", "sklearn", "scipy", "narwhals", "maskdiff"):
    sys.modules[name] = None  # an import of it fails
from maskdiff_runtime import Scorer
print(json.dumps(Scorer(".").score(json.loads(sys.stdin.read())).tolist()))
"""


def test_the_runtime_needs_neither_torch_nor_maskdiff(tmp_path):
    detector = TableDetector(SMALL, probes=PROBES, progress=False).fit(make_connections(200, seed=1))
    save(detector, tmp_path / "m.maskdiff")
    said = call("export", tmp_path / "m.maskdiff", "-o", tmp_path / "out")
    assert said.status == 0, said.err
    assert "model.json, arrays.npz, network.onnx, maskdiff_runtime" in said.out
    rows = make_connections(20, seed=2)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        input=json.dumps(as_columns(rows)),
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), detector.with_effort("full").anomaly_score(rows), rtol=1e-5)


def test_what_cannot_be_exported_is_refused_by_name(tmp_path):
    rows = make_connections(100, seed=1)
    with_times = rows.assign(at=pd.to_timedelta(np.arange(100), "min"))
    with pytest.raises(SettingError, match="column 'at' cannot be exported: it is read as duration"):
        export_model(TableDetector("kernel", progress=False).fit(with_times), tmp_path / "out")
    detector = TableDetector("kernel", progress=False).fit(rows)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(SettingError, match="not an empty folder"):
        export_model(detector, tmp_path / "full")
    export_model(detector, tmp_path / "full", force=True)
    with pytest.raises(ValueError, match="lacks the columns 'flag'"):
        Scorer(tmp_path / "full").score(as_columns(rows.drop(columns="flag")))
    detector.dismiss(rows.assign(service="gopher")[:1])
    with pytest.raises(SettingError, match="undo them first"):
        export_model(detector, tmp_path / "out")
    own_masks = TableDetector(SMALL, probes=ProbeGrid((0.3,), 2, "independent"), progress=False).fit(rows)
    with pytest.raises(SettingError, match="independent"):
        export_model(own_masks, tmp_path / "out")
    assert not (tmp_path / "out").exists()
