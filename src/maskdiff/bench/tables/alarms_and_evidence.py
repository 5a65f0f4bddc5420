"""Tables of what records of our own detectors say beyond the metrics: alarm rates, and evidence added up."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from scipy.stats import betabinom

from maskdiff.bench.runs.details import RATES
from maskdiff.bench.runs.measure import Record

_SURE = 0.99


def promised(rate: float, n_calibration: int, n_normal: int, sure: float = _SURE) -> int:
    """The most alarms to be expected among n normal rows, if they are like those that calibrated.

    The threshold is itself drawn, from `n_calibration` rows: alarms are beta-binomial, wider than binomial. Rows that
    tie, of which some tables have many, can only make them fewer.

    >>> promised(0.05, 2000, 1000)
    71
    """
    above = int(rate * (n_calibration + 1))
    return int(betabinom(n_normal, above, n_calibration + 1 - above).ppf(sure)) if above else 0


def alarm_table(records: Iterable[Record]) -> pd.DataFrame:
    """Per method and set: the share of normal rows that are alarms, in percent, and how many runs keep the promise."""
    rows = []
    for record in records:
        if "false_alarms" not in record:
            continue
        row = {"method": record["method"], "set": record["set"], "runs": 1}
        for rate in RATES:
            number = record["false_alarms"][str(rate)]
            most = promised(rate, record["n_calibration"], record["n_normal"])
            row[f"at {rate:.0%}"] = 100 * number / record["n_normal"]
            row[f"kept, {rate:.0%}"] = int(number <= most)
        rows.append(row)
    if not rows:
        return pd.DataFrame()
    combined = {name: "mean" if name.startswith("at") else "sum" for name in rows[0] if name not in ("method", "set")}
    return pd.DataFrame(rows).groupby(["method", "set"], as_index=False, sort=False).agg(combined)


def evidence_table(records: Iterable[Record]) -> pd.DataFrame:
    """Per method and set: ROC / PR in percent as one term of evidence is added after the other; the mean at the end."""
    rows = [
        {"method": record["method"], "set": record["set"], "term": f"+ {term}", "roc": 100 * roc, "pr": 100 * pr}
        for record in records
        for term, (roc, pr) in record.get("added_up", {}).items()
    ]
    if not rows:
        return pd.DataFrame()
    means = pd.DataFrame(rows).groupby(["method", "set", "term"], as_index=False, sort=False)[["roc", "pr"]].mean()
    overall = means.groupby(["method", "term"], as_index=False, sort=False)[["roc", "pr"]].mean()
    both = pd.concat([means, overall.assign(set="mean")])
    both["text"] = both["roc"].map("{:.1f}".format) + " / " + both["pr"].map("{:.1f}".format)
    lines = list(both[["method", "set"]].drop_duplicates().itertuples(index=False, name=None))
    wide = both.pivot(index=["method", "set"], columns="term", values="text")
    return wide.loc[lines, both["term"].unique()].reset_index()
