"""One cell far beyond all that was seen raises an alarm in a table of 25 columns; one slightly beyond does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector

LARGEST = 6_517.0


def claims(n: int, seed: int) -> pd.DataFrame:
    """Claims of 25 columns; each is reported within two weeks, no amount is larger than 6,517."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, n)
    amount = (rng.gamma(2, size=n) * 700).clip(max=LARGEST).round(2)
    loss = np.datetime64("2024-01-01") + rng.integers(0, 300, n)
    columns = {"amount": amount, "loss_date": loss, "reported": loss + rng.integers(0, 15, n)}
    columns |= {f"choice_{j}": (group * (j + 1) + rng.integers(0, 2 + j % 4, n)) % (3 + j % 5) for j in range(14)}
    columns |= {f"size_{j}": (rng.gamma(2, size=n) * (1 + group)).round(2) for j in range(8)}
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def detector() -> TableDetector:
    normal = claims(600, seed=0)
    normal.loc[17, "amount"] = LARGEST
    return TableDetector("kernel", false_alarm_rate=0.01).fit(normal)


@pytest.fixture(scope="module")
def new() -> pd.DataFrame:
    return claims(100, seed=1)


def alarms(detector: TableDetector, rows: pd.DataFrame) -> float:
    return float(detector.judge(rows).is_anomaly.mean())


def test_a_report_before_the_loss_nearly_always_alarms(detector: TableDetector, new: pd.DataFrame) -> None:
    assert "reported - loss_date" in detector.encoder_.derived_
    assert alarms(detector, new) <= 0.05
    before = new.assign(reported=new["loss_date"] - pd.Timedelta(days=30))
    assert alarms(detector, before) >= 0.95
    explained = detector.explain(before.head(5), top=1)
    assert set(explained["column"]) == {"reported - loss_date"}


def test_an_amount_slightly_beyond_alarms_hardly_more_often_than_the_largest_seen(
    detector: TableDetector, new: pd.DataFrame
) -> None:
    seen, beyond = (alarms(detector, new.assign(amount=amount)) for amount in (LARGEST, 6_600.0))
    assert beyond <= seen + 0.05 < 0.3


def test_a_row_with_one_amount_slightly_beyond_does_not_alarm_and_far_beyond_it_does(
    detector: TableDetector, new: pd.DataFrame
) -> None:
    quiet = new[detector.anomaly_score(new) <= np.median(detector.anomaly_score(new))]
    amounts = [6_600.0, 8_000.0, 15_000.0, 70_000.0, 99_999_999.0]
    scores = np.stack([detector.anomaly_score(quiet.assign(amount=amount)) for amount in amounts])
    assert (np.diff(scores, axis=0) >= 0).all()
    assert alarms(detector, quiet.assign(amount=amounts[0])) == 0
    assert alarms(detector, quiet.assign(amount=amounts[-1])) == 1


def test_no_reason_outweighs_all_others(detector: TableDetector, new: pd.DataFrame) -> None:
    """However far beyond, one cell costs no more than a value that was all but impossible."""
    far = detector.anomaly_score(new.assign(amount=1e300)) - detector.anomaly_score(new)
    n_fields = len(detector.encoder_.schema_)
    assert (far * n_fields <= -np.log(1e-12) + 1e-6).all()
