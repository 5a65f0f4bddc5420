"""A file with claim, phone and customer numbers and zip codes: the alarm rate holds, in any order of the rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.errors import LeftOutWarning, NearIdWarning


def claims(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cause = rng.choice(["hail", "theft", "glass"], n, p=[0.5, 0.2, 0.3])
    customer = np.where(rng.random(n) < 0.4, rng.integers(0, 20, n), rng.integers(20, 420, n))
    return pd.DataFrame(
        {
            "claim_no": rng.choice(np.arange(1_000_000, 9_999_999), n, replace=False),
            "phone": [f"0{number}" for number in rng.integers(1_511_000_000, 1_799_999_999, n)],
            "zip": [f"{code:05}" for code in np.where(rng.random(n) < 0.5, 1067, rng.integers(1000, 99_999, n))],
            "customer_no": 10_000 + customer * 7,
            "cause": cause,
            "amount": (rng.lognormal(6, 0.5, n) * np.where(cause == "theft", 4, 1)).round(2),
        }
    )


def quick_default() -> TableDetector:
    quick = lambda: MLPReconstructor(16, 2, training=Training(Steps(40), batch_size=64))  # noqa: E731
    presets = {None: TableDetector._presets[None] | {"combined": (quick, TableDetector._presets[None]["mlp"][1])}}
    return type("Quick", (TableDetector,), {"_presets": presets})()


DETECTORS = {
    "default": quick_default,
    "mlp": lambda: TableDetector(MLPReconstructor(16, 2, training=Training(Steps(40), batch_size=64))),
    "kernel": lambda: TableDetector("kernel"),
}


def fitted(name: str, normal: pd.DataFrame) -> TableDetector:
    with warnings.catch_warnings():
        for notice in (LeftOutWarning, NearIdWarning):
            warnings.simplefilter("ignore", notice)
        return DETECTORS[name]().fit(normal)


@pytest.mark.parametrize("name", DETECTORS)
def test_fresh_normal_rows_raise_few_alarms_through_keys(name: str) -> None:
    normal, new = claims(900, 0), claims(600, 1)
    detector = fitted(name, normal)
    assert list(detector.encoder_.left_out_) == ["claim_no", "phone"]
    assert detector.is_anomaly(new, 0.05).mean() < 0.1
    odd = new.head(50).assign(cause="meteor")
    assert detector.is_anomaly(odd, 0.05).all()


@pytest.mark.usefixtures("hardly_trained")
def test_every_reconstructor_keeps_the_same_columns_whatever_the_order_of_the_rows() -> None:
    normal = claims(900, 0)
    orders = (normal, normal.sort_values("claim_no"), normal.sort_values("amount", ascending=False))
    found = {
        (tuple(detector.encoder_.left_out_.items()), tuple(detector.encoder_.schema_.names))
        for rows in orders
        for detector in (fitted(name, rows.reset_index(drop=True)) for name in ("mlp", "kernel"))
    }
    assert len(found) == 1
