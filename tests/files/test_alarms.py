"""Planted oddities raise an alarm, fresh normal rows hardly ever do, in whichever country the file was written."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.errors import MaskdiffWarning
from maskdiff.jobs import fit_file, score_file

from .claims import STYLES, Style, claims, texts

RATE = 0.05


def one_claim(seed: int = 5, **changes: Any) -> pd.DataFrame:
    """A claim like the others, but for these cells."""
    rows = claims(60, seed)
    typical = rows[rows.peril.eq("water") & rows.amount.between(2500, 3500)].head(1).reset_index(drop=True)
    return typical.assign(**{name: [value] for name, value in changes.items()})


LOSS = one_claim()["loss_date"][0]
ODD: dict[str, dict[str, Any]] = {
    "an amount far beyond all": {"amount": 99_999_999.0},
    "a negative amount": {"amount": -5_000.0},
    "a loss in the year 2999": {"loss_date": date(2999, 12, 31)},
    "both dates in 1900": {"loss_date": date(1900, 1, 1), "reported": date(1900, 1, 5)},
    "a report 30 days before the loss": {"reported": LOSS - timedelta(days=30)},
    "a peril never seen": {"peril": "meteorite"},
    "a region in other case": {"region": "north"},
    "a region with a blank before it": {"region": " North"},
    "a zip code without its zero": {"zip": "1067"},
}
NORMAL: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "a claim number never seen": {"claim_no": 123},
    "a customer never seen": {"customer": 987_654},
    "an amount that is not known": {"amount": np.nan},
    "reported on the same day": {"reported": LOSS},
}


@pytest.fixture(scope="module", params=list(STYLES))
def style(request: pytest.FixtureRequest) -> Style:
    return STYLES[request.param]


@pytest.fixture(scope="module")
def written(style: Style, tmp_path_factory: pytest.TempPathFactory) -> Callable[[pd.DataFrame], Path]:
    folder = tmp_path_factory.mktemp("claims")

    def write(rows: pd.DataFrame) -> Path:
        path = folder / f"{len(list(folder.iterdir()))}.csv"
        texts(rows, style).to_csv(path, index=False, sep=style.delimiter)
        return path

    return write


@pytest.fixture(scope="module")
def detector(written: Callable[[pd.DataFrame], Path]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        unfitted = TableDetector("kernel", false_alarm_rate=RATE)
        return fit_file(str(written(claims(500, seed=1))), detector=unfitted)


def alarms(detector: Any, path: Path) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        return int(score_file(detector, str(path), str(path.with_suffix(".parquet"))).anomalies)


@pytest.mark.parametrize("what", ODD)
def test_an_odd_claim_raises_an_alarm(what: str, detector: Any, written: Callable[[pd.DataFrame], Path]) -> None:
    assert alarms(detector, written(one_claim(**ODD[what]))) == 1


@pytest.mark.parametrize("what", NORMAL)
def test_a_normal_claim_raises_none(what: str, detector: Any, written: Callable[[pd.DataFrame], Path]) -> None:
    assert alarms(detector, written(one_claim(**NORMAL[what]))) == 0


def test_fresh_claims_alarm_about_as_often_as_promised(detector: Any, written: Callable[[pd.DataFrame], Path]) -> None:
    assert alarms(detector, written(claims(600, seed=2))) / 600 == pytest.approx(RATE, abs=0.035)
