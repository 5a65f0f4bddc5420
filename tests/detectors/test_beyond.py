"""How far a number is beyond those seen counts in every detector of tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training, load, save
from maskdiff.detectors.split import split_rows
from maskdiff.jobs.verdict_columns import reason

BEYOND = [6_600, 9_000, 50_000, 99_999_999]


def claims(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east"], n)
    amount = np.where(region == "north", 4000, 1500) + rng.uniform(-1000, 1000, n).round()
    return pd.DataFrame({"region": region, "amount": amount, "age": rng.integers(18, 80, n)})


def quick_default() -> TableDetector:
    quick = lambda: MLPReconstructor(8, 2, training=Training(Steps(5), batch_size=64))  # noqa: E731
    presets = {None: TableDetector._presets[None] | {"combined": (quick, TableDetector._presets[None]["mlp"][1])}}
    return type("Quick", (TableDetector,), {"_presets": presets})()


DETECTORS = {
    "default": quick_default,
    "mlp": lambda: TableDetector(MLPReconstructor(8, 2, training=Training(Steps(5), batch_size=64))),
    "kernel": lambda: TableDetector("kernel"),
    "max": lambda: TableDetector("kernel", aggregate="max"),
}


@pytest.fixture(params=DETECTORS)
def detector(request: pytest.FixtureRequest) -> TableDetector:
    return DETECTORS[request.param]().fit(claims(400, 0))


def with_amount(amounts: list[float]) -> pd.DataFrame:
    return claims(1, 1).loc[[0] * len(amounts)].assign(amount=amounts).reset_index(drop=True)


def test_a_number_is_odder_the_further_it_is_beyond(detector: TableDetector) -> None:
    scores = detector.anomaly_score(with_amount(BEYOND))
    assert (np.diff(scores) > 0).all()
    below = detector.anomaly_score(with_amount([-5, -5_000]))
    assert below[0] < below[1]
    assert np.isfinite(detector.anomaly_score(with_amount([np.inf]))).all()


def test_just_beyond_costs_what_an_unseen_value_costs(detector: TableDetector) -> None:
    codes = detector.encoder_.encode(with_amount([5_001, 99_999_999]))
    assert codes.excess is not None
    plain = detector.evidence_.weigh(codes.without_excess()).score
    counted = detector.evidence_.weigh(codes).score
    assert plain[0] == plain[1]
    assert plain[0] < counted[0] < plain[0] * 1.1 < counted[1]


def test_other_rows_score_exactly_as_without_it(detector: TableDetector) -> None:
    new = claims(50, 2)
    inside = detector.anomaly_score(new)
    beside = detector.anomaly_score(pd.concat([new, with_amount(BEYOND)], ignore_index=True))
    np.testing.assert_array_equal(beside[: len(new)], inside)


def test_the_contributions_still_add_up_and_the_reason_says_what_was_seen(detector: TableDetector) -> None:
    odd = with_amount([99_999_999])
    np.testing.assert_allclose(detector.contributions(odd).sum(axis=1), detector.anomaly_score(odd))
    (first,) = detector.explain(odd, top=1).itertuples(index=False)
    largest = int(claims(400, 0)["amount"].max())
    assert (first.column, first.note) == ("amount", f"largest seen {largest}") or largest > int(first.note.split()[-1])
    assert first.oddity == "rare in itself"
    assert reason(first).startswith(f"amount = 99999999: {first.note} (expected")


def test_a_stored_detector_scores_them_alike(tmp_path) -> None:
    detector = TableDetector("kernel").fit(claims(200, 0))
    save(detector, tmp_path / "m.maskdiff")
    again = load(tmp_path / "m.maskdiff")
    np.testing.assert_array_equal(again.anomaly_score(with_amount(BEYOND)), detector.anomaly_score(with_amount(BEYOND)))


def test_calibration_rows_beyond_the_range_count_as_new_rows_do() -> None:
    normal = claims(400, 0)
    calibration = split_rows(400, 0, tunes=True).calibration
    normal.loc[calibration[7], "amount"] = 77_000
    detector = DETECTORS["mlp"]().set_params(cross_fit_up_to=0).fit(normal)
    assert detector.encoder_.encode(normal.loc[calibration]).excess is not None
    again = detector.judge(normal.loc[calibration]).alarm_score
    np.testing.assert_allclose(detector.calibration_.scores, np.sort(again), rtol=1e-5)
