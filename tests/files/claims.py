"""Insurance claims as a claims system exports them, written the German, the American and the plain way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pandas as pd

from .cells import german, us

TYPICAL = {"fire": 20_000.0, "water": 3_000.0, "theft": 800.0}
ZIPS = ("01067", "04103", "10115", "20095", "80331")
REGIONS = ("North", "South", "West")


@dataclass(frozen=True)
class Style:
    """How a country writes amounts, dates and what is not known."""

    amount: Callable[[float], str]
    date: str
    unknown: str
    delimiter: str


STYLES = {
    "german": Style(lambda x: f"{german(x)} €", "%d.%m.%Y", "-", ";"),
    "american": Style(lambda x: f"${us(x)}" if x >= 0 else f"(${us(-x)})", "%m/%d/%Y", "unknown", ","),
    "plain": Style(lambda x: f"{x:.2f}", "%Y-%m-%d", "", ","),
}


def claims(n: int, seed: int) -> pd.DataFrame:
    """Claims as values: the peril decides the amount, each is reported within two weeks; some amounts are not known."""
    rng = np.random.default_rng(seed)
    peril = rng.choice(list(TYPICAL), n)
    loss = [date(2024, 1, 1) + timedelta(days=day) for day in rng.integers(0, 360, n).tolist()]
    amount = np.array([TYPICAL[p] for p in peril]) * rng.lognormal(sigma=0.3, size=n)
    return pd.DataFrame(
        {
            "claim_no": rng.choice(90_000_000, n, replace=False) + 10_000_000,
            "customer": rng.integers(1, 1 + n // 2, n) + 400_000,
            "zip": rng.choice(ZIPS, n),
            "region": rng.choice(REGIONS, n),
            "peril": peril,
            "loss_date": loss,
            "reported": [
                day + timedelta(days=wait) for day, wait in zip(loss, rng.integers(0, 15, n).tolist(), strict=True)
            ],
            "amount": np.where(rng.random(n) < 0.05, np.nan, amount.round(2)),
        }
    )


def texts(rows: pd.DataFrame, style: Style) -> pd.DataFrame:
    """The same claims as the texts of an export."""
    written = rows.astype({"claim_no": str, "customer": str})
    for name in ("loss_date", "reported"):
        written[name] = [day.strftime(style.date) for day in rows[name]]
    written["amount"] = [style.unknown if pd.isna(x) else style.amount(x) for x in rows["amount"]]
    return written.astype(object)
