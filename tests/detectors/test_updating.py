"""A model learns on: what became usual is no alarm any more, and the promise holds after every update."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector, load, save
from maskdiff.errors import EmptyTableError, InputError, SettingError

from ..conftest import make_connections


def orders(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with rare names, which go on appearing, and a number with a long tail."""
    kind = rng.choice(list("abc"), n, p=(0.6, 0.3, 0.1))
    name = [f"v{k}" for k in np.minimum(rng.geometric(0.12, n), 60)]
    return pd.DataFrame({"kind": kind, "name": name, "amount": rng.lognormal(3 + (kind == "a"), 0.7, n).round(1)})


def kernel(**settings) -> TableDetector:
    return TableDetector("kernel", progress=False, **settings)


@pytest.fixture
def detector() -> TableDetector:
    return kernel().fit(make_connections(400, seed=7))


def test_the_promise_holds_over_twenty_updates():
    after = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        detector = kernel(columns={"name": "category"}, false_alarm_rate=0.1, seed=seed).fit(orders(100, rng))
        for _ in range(20):
            detector.update(orders(15, rng))
        after.append(detector.is_anomaly(orders(400, rng)).mean())
    assert len(detector.calibration_) == 400
    # Four times a rate that 400 calibration rows and 400 new ones each leave uncertain by 0.015.
    assert 0.05 < np.mean(after) < 0.1 + 3 * 0.021 / np.sqrt(4)


def test_an_update_knows_as_much_as_a_fit_on_all_rows():
    first, more = make_connections(300, seed=1), make_connections(300, seed=2)
    rows = make_connections(200, seed=3)
    columns = {"bytes": "drop"}
    updated, fitted = kernel(columns=columns).fit(first), kernel(columns=columns).fit(pd.concat([first, more]))
    updated.update(more)
    np.testing.assert_allclose(updated.anomaly_score(rows), fitted.anomaly_score(rows), rtol=1e-5)
    np.testing.assert_allclose(updated.calibration_.scores, fitted.calibration_.scores, rtol=1e-5)


def test_a_value_that_became_common_stops_raising_alarms_and_the_summary_says_what_changed(detector):
    new = make_connections(150, seed=3)
    new.loc[:49, ["protocol", "service"]] = ["quic", "http3"]
    new.loc[50, "bytes"] = 900_000
    assert detector.is_anomaly(new[:50]).all()
    summary = detector.update(new)
    assert detector.is_anomaly(new[:50]).mean() < 0.1
    assert summary.new_values == {"protocol": ("quic",), "service": ("http3",)}
    assert summary.widened == ("bytes",)
    assert {"protocol", "service"} <= set(summary.drifted)
    assert summary.alarms >= 50
    assert summary.threshold == detector.threshold() != summary.threshold_before
    assert summary.to_record()["new_values"]["protocol"] == ["quic"]


def test_a_model_that_learned_on_is_kept_whole(detector, tmp_path):
    odd = make_connections(20, seed=3).assign(service="gopher")
    detector.dismiss(odd[:1])
    new = make_connections(100, seed=4).assign(flag="new")
    detector.update(new)
    assert detector.judge(new).seen.all()
    assert detector.judge(make_connections(400, seed=7)).seen.all()
    assert detector.judge(odd).dismissed_by[0] == 1
    save(detector, tmp_path / "m.maskdiff")
    rows = pd.concat([odd, new])
    assert (load(tmp_path / "m.maskdiff").anomaly_score(rows) == detector.anomaly_score(rows)).all()


def test_rows_with_cells_that_no_code_fits_are_left_out(detector):
    new = make_connections(100, seed=4).astype({"bytes": object})
    new.loc[3, "bytes"] = "many"
    summary = detector.update(new)
    assert (summary.rows, summary.left_out) == (99, 1)


def test_rows_learned_from_before_are_refused():
    rng = np.random.default_rng(0)
    rows = orders(400, rng).assign(weight=rng.normal(size=400).round(4))
    detector = kernel(columns={"name": "category"}).fit(rows[:300])
    before = detector.threshold()
    with pytest.raises(InputError, match="of 200 rows were learned from before and would count twice"):
        detector.update(rows[200:])
    assert detector.threshold() == before
    assert detector.update(rows[300:]).rows == 100
    repeated = pd.DataFrame({"a": ["x", "y"] * 100, "b": ["1", "2"] * 100})
    assert kernel().fit(repeated).update(repeated).rows == 200


def test_other_detectors_say_that_they_have_to_be_fitted_again(detector):
    with pytest.raises(EmptyTableError):
        detector.update(make_connections(0, seed=1))
    with pytest.raises(SettingError, match="Fit again on old and new rows"):
        kernel(contamination=0.1).fit(make_connections(200, seed=1)).update(make_connections(20, seed=2))
