"""A table in which one column repeats another, detectors that learned it, and rows with single wrong cells."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from maskdiff import MLPReconstructor, Steps, TableDetector, Training

LIMIT = {"A": 100, "B": 200, "C": 300}


def make_contracts(n: int, seed: int) -> pd.DataFrame:
    """The plan decides the office, the limit, the rate and the amount; the end is a week or two after the start."""
    rng = np.random.default_rng(seed)
    plan = rng.choice(list(LIMIT), n)
    limit = np.array([LIMIT[one] for one in plan])
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    columns = {
        "plan": plan,
        "office": pd.Series(plan).map({"A": "Aachen", "B": "Berlin", "C": "Celle"}).to_numpy(),
        "limit": limit,
        "amount": (limit * rng.uniform(0.5, 1.0, n)).round(2),
        "colour": rng.choice(["red", "green", "blue"], n),
        "note": np.where(rng.random(n) < 0.5, None, "called"),
        "start": start,
        "end": start + pd.to_timedelta(rng.integers(7, 15, n), unit="D"),
    }
    return pd.DataFrame(columns, index=[f"c{i}" for i in range(n)])


OTHER_OFFICE = {"Aachen": "Berlin", "Berlin": "Celle", "Celle": "Aachen"}
# The rows whose cell in this column is wrong: offices contradict their plans, the others were never seen.
WRONG = {"office": (3, 13, 23, 33), "colour": (50, 51, 52, 53), "limit": (70, 71, 72, 73), "amount": (90, 91, 92, 93)}
PLANTED = {(f"c{row}", column) for column, rows in WRONG.items() for row in rows}


@cache
def wrong_cells() -> pd.DataFrame:
    """120 contracts; 16 of their cells are wrong."""
    rows = make_contracts(120, 1)
    wrong = {"office": rows["office"].map(OTHER_OFFICE), "colour": "purple", "limit": 999, "amount": 99999.5}
    for column, places in WRONG.items():
        chosen = rows.index[list(places)]
        rows.loc[chosen, column] = wrong[column][chosen] if column == "office" else wrong[column]
    return rows


@cache
def contract_detector(reconstructor: str = "mlp") -> TableDetector:
    """One that was trained for a moment; "kernel" has no log odds, and no alarms of cells."""
    made = MLPReconstructor(width=64, training=Training(Steps(300))) if reconstructor == "mlp" else reconstructor
    return TableDetector(made, cross_fit_up_to=0, progress=False).fit(make_contracts(1500, 0))
