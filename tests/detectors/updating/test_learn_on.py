"""A model learns on: what became usual is no alarm any more, and the promise holds after every update."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, Training, load, save
from maskdiff.detectors.updating import learn_on
from maskdiff.errors import (
    CalibrationError,
    CoarserRateWarning,
    ColumnTypeError,
    EmptyTableError,
    InputError,
    SettingError,
    UnknownColumnError,
)

from ...conftest import make_connections

QUICK = MLPReconstructor(16, 2, training=Training(Steps(200), batch_size=64, learning_rate=5e-3))
TINY = MLPReconstructor(4, 2, training=Training(Steps(20), batch_size=64, learning_rate=5e-3))
FEW_VIEWS = ProbeGrid((0.2, 0.6), 2)


def orders(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Rows with rare names, which go on appearing, and a number with a long tail."""
    kind = rng.choice(list("abc"), n, p=(0.6, 0.3, 0.1))
    name = [f"v{k}" for k in np.minimum(rng.geometric(0.12, n), 60)]
    return pd.DataFrame({"kind": kind, "name": name, "amount": rng.lognormal(3 + (kind == "a"), 0.7, n).round(1)})


def kernel(**settings) -> TableDetector:
    return TableDetector("kernel", progress=False, **settings)


def network(**settings) -> TableDetector:
    """A small network that keeps rows back to calibrate, however few there are."""
    given = {"reconstructor": QUICK, "probes": FEW_VIEWS, "cross_fit_up_to": 0} | settings
    return TableDetector(progress=False, **given)


@pytest.fixture
def combined(monkeypatch):
    """Makes the default with all its evidence, on a small network."""

    def make(small=QUICK, **settings):
        presets = {None: TableDetector._presets[None] | {"combined": (lambda: small, FEW_VIEWS)}}
        monkeypatch.setattr(TableDetector, "_presets", presets)
        return network(reconstructor="combined", probes=None, **settings)

    return make


@pytest.fixture
def detector() -> TableDetector:
    return kernel().fit(make_connections(400, seed=7))


def with_quic(n: int, seed: int) -> pd.DataFrame:
    """Connections, a third of which hold values never seen before."""
    rows = make_connections(n, seed=seed)
    rows.loc[: n // 3 - 1, ["protocol", "service"]] = ["quic", "http3"]
    return rows


@pytest.mark.parametrize("name", ["kernel", "combined"])
def test_the_promise_holds_over_twenty_updates(name, combined):
    rng = np.random.default_rng(0)
    settings = {"columns": {"name": "category"}, "false_alarm_rate": 0.1}
    make = {"kernel": kernel, "combined": partial(combined, TINY)}[name]
    detector = make(**settings).fit(orders(100, rng))
    for _ in range(20):
        detector.update(orders(15, rng))
    n = {"kernel": 400, "combined": 100}[name]
    assert len(detector.calibration_) == n
    # A rate that these calibration rows and 600 new ones leave uncertain.
    uncertain = np.sqrt(0.1 * 0.9 * (1 / n + 1 / 600))
    assert abs(detector.is_anomaly(orders(600, rng)).mean() - 0.1) < 2.5 * uncertain


def test_an_update_knows_as_much_as_a_fit_on_all_rows():
    first, more = make_connections(300, seed=1), make_connections(300, seed=2)
    rows = make_connections(200, seed=3)
    columns = {"bytes": "drop"}
    updated, fitted = kernel(columns=columns).fit(first), kernel(columns=columns).fit(pd.concat([first, more]))
    updated.update(more)
    np.testing.assert_allclose(updated.anomaly_score(rows), fitted.anomaly_score(rows), rtol=1e-5)
    np.testing.assert_allclose(updated.calibration_.scores, fitted.calibration_.scores, rtol=1e-5)


def test_a_value_that_became_common_stops_raising_alarms_and_the_summary_says_what_changed(detector):
    new = with_quic(150, seed=3)
    new.loc[50, "bytes"] = 900_000
    assert detector.is_anomaly(new[:50]).all()
    summary = detector.update(new)
    assert detector.is_anomaly(new[:50]).mean() < 0.1
    assert summary.new_values == {"protocol": ("quic",), "service": ("http3",)}
    assert summary.n_new == {"protocol": 1, "service": 1}
    assert summary.widened == ("bytes",)
    assert {"protocol", "service"} <= set(summary.drifted)
    assert summary.alarms > 0.3
    assert summary.threshold == detector.threshold() != summary.threshold_before
    assert summary.to_record()["new_values"]["protocol"] == ["quic"]
    assert detector.updates_ == (summary,)


@pytest.mark.parametrize("name", ["network", "combined"])
def test_a_network_and_all_evidence_together_learn_a_value_that_became_common(name, combined):
    make = {"network": network, "combined": combined}[name]
    detector = make(false_alarm_rate=0.05).fit(make_connections(600, seed=7))
    new, later = with_quic(300, seed=3), with_quic(300, seed=4)[:100]
    assert detector.is_anomaly(later).mean() > 0.5
    detector.update(new)
    assert detector.is_anomaly(later).mean() < 0.3
    odd = later.assign(protocol="never seen", service="neither", flag="nor this")
    assert detector.is_anomaly(odd).mean() > 0.5


def test_an_update_costs_a_part_of_a_fit(monkeypatch):
    steps = []

    def listen(progress):
        if progress.stage == "training":
            steps.append(progress.total)

    detector = network()
    detector.progress = listen
    detector.fit(make_connections(2000, seed=1))
    detector.update(make_connections(100, seed=2))
    assert steps[0] == 200
    assert steps[-1] == 20
    rows = detector.kept_
    assert (rows.n_rows, len(rows.calibration), len(rows.tuning)) == (2100, 210, 105)


def test_rows_kept_apart_are_never_learned_from():
    detector = network().fit(make_connections(400, seed=1))
    for seed in range(3):
        before = detector.kept_
        detector.update(make_connections(60, seed=10 + seed))
        kept, after = before.deal(60, detector.seed), detector.kept_
        assert len(after.calibration) == len(kept.calibration_kept) + len(kept.calibration)
        assert after.n_learned == before.n_learned + 60 + len(before.calibration) + len(before.tuning) - len(
            after.calibration
        ) - len(after.tuning)


def test_a_model_that_learned_on_is_kept_whole(detector, tmp_path):
    odd = make_connections(20, seed=3).assign(service="gopher")
    detector.dismiss(odd[:1])
    new = make_connections(100, seed=4).assign(flag="new")
    detector.update(new)
    assert detector.judge(new).seen.all()
    assert detector.judge(make_connections(400, seed=7)).seen.all()
    assert detector.judge(odd).dismissed_by[0] == 1
    save(detector, tmp_path / "m.maskdiff")
    rows, again = pd.concat([odd, new]), load(tmp_path / "m.maskdiff")
    assert (again.anomaly_score(rows) == detector.anomaly_score(rows)).all()
    assert again.updates_ == detector.updates_


def test_a_kernel_that_left_rows_out_keeps_others_apart():
    rows = make_connections(300, seed=1)
    detector = kernel(contamination=0.05).fit(rows)
    detector.update(with_quic(150, seed=2))
    assert len(detector.kept_.learned) == 0
    assert detector.reconstructor_.counts_N.sum() == detector.kept_.n_learned
    assert detector.is_anomaly(with_quic(150, seed=3)[:50]).mean() < 0.3


def test_columns_of_free_text_learn_on_too():
    detector = network(reconstructor=TINY, columns={"note": "text"}).fit(damages(200, seed=1, cause="hail fell on"))
    new, later = (damages(120, seed=seed, cause="a drone crashed into") for seed in (2, 3))
    assert detector.is_anomaly(later).mean() > 0.5
    detector.update(new)
    assert detector.is_anomaly(later).mean() < 0.2


def damages(n: int, seed: int, cause: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    part, place = rng.choice(["roof", "door", "glass", "mirror"], n), rng.choice(["street", "garage", "bridge"], n)
    number = rng.integers(10**6, size=n)
    notes = [f"{cause} the {p} near the {q}, case {k}" for p, q, k in zip(part, place, number, strict=True)]
    return pd.DataFrame({"part": part, "place": place, "note": notes})


# What is refused ------------------------------------------------------------------------------------------------------


def test_rows_with_cells_that_no_code_fits_are_left_out(detector):
    new = make_connections(100, seed=4).astype({"bytes": object})
    new.loc[3, "bytes"] = "many"
    summary = detector.update(new)
    assert (summary.rows, summary.left_out) == (99, 1)


def test_other_columns_and_other_types_are_refused(detector):
    new = make_connections(100, seed=4)
    with pytest.raises(ColumnTypeError, match=r"'bytes' was learned as number, but 100 of 100 .* row 0 'many'"):
        detector.update(new.assign(bytes="many"))
    with pytest.raises(UnknownColumnError, match="flag"):
        detector.update(new.drop(columns="flag"))
    with pytest.raises(EmptyTableError):
        detector.update(new.head(0))
    assert detector.updates_ == ()


def test_rows_learned_from_before_are_refused():
    rng = np.random.default_rng(0)
    rows = orders(400, rng).assign(weight=rng.normal(size=400).round(4))
    for make in (kernel, network):
        detector = make(columns={"name": "category"}).fit(rows[:300])
        before = detector.threshold()
        with pytest.raises(InputError, match="of 200 rows were learned from before and would count twice"):
            detector.update(rows[200:])
        assert detector.threshold() == before
        assert detector.update(rows[300:]).rows == 100
        with pytest.raises(InputError, match="of 100 rows were learned from before and would count twice"):
            detector.update(rows[300:])
    repeated = pd.DataFrame({"a": ["x", "y"] * 100, "b": ["1", "2"] * 100})
    assert kernel().fit(repeated).update(repeated).rows == 200


def test_rows_that_calibrated_a_small_table_are_not_learned_from_in_an_update(combined, tmp_path):
    """They are compared with from the fit on; in an update each would find itself."""
    detector = combined(cross_fit_up_to=500).fit(make_connections(300, seed=1))
    save(detector, tmp_path / "model")
    for one in (detector, load(tmp_path / "model")):
        assert one.kept_.compared == ("tuning", "calibration")
        assert len(one._old_rows(one.kept_)) == one.kept_.n_learned == 240
    detector.update(make_connections(300, seed=2))
    assert detector.kept_.compared == ("tuning",)
    assert detector.is_anomaly(make_connections(2000, seed=3), 0.05).mean() < 0.08


def test_too_few_rows_to_promise_the_rate_are_refused_and_a_coarser_default_is_said():
    few = make_connections(60, seed=1)
    detector = network(false_alarm_rate=0.02, cross_fit_up_to=100).fit(few)
    with pytest.raises(CalibrationError, match="needs at least 49 calibration rows"):
        detector.update(make_connections(9, seed=2))
    detector.set_params(false_alarm_rate=None)
    with pytest.warns(CoarserRateWarning, match="Learn on from more rows"):
        detector.update(make_connections(9, seed=2))


def test_an_update_that_fails_changes_nothing(monkeypatch):
    detector = network().fit(make_connections(400, seed=1))
    rows = make_connections(50, seed=2)
    before = detector.anomaly_score(rows), vars(detector).copy()
    monkeypatch.setattr(learn_on, "moved_rules", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        detector.update(rows)
    assert vars(detector) == before[1]
    np.testing.assert_array_equal(detector.anomaly_score(rows), before[0])


def test_a_reconstructor_that_cannot_train_on_says_so():
    class Own(MLPReconstructor):
        train_on = None

    detector = network(reconstructor=Own(4, training=Training(Steps(2)))).fit(make_connections(200, seed=1))
    with pytest.raises(SettingError, match="Fit again on old and new rows"):
        detector.update(make_connections(20, seed=2))
