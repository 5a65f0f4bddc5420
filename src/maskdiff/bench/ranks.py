"""Tables from records: means and deviations, average ranks, ours beside the published values.

Metrics are in percent here, as in the paper. What was not run is left empty, never filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from maskdiff.bench.measure import Record
from maskdiff.bench.methods import METHODS
from maskdiff.bench.records import latest

METRICS = {"roc_auc": "ROC-AUC", "pr_auc": "PR-AUC"}
SECONDS = {"fit_seconds": "seconds to fit", "score_seconds": "seconds to score"}


@cache
def published(name: str) -> pd.DataFrame:
    """One of the paper's tables: "roc_auc", "pr_auc", "average_ranks", "runtime_seconds", "text" or "datasets"."""
    with files(__package__).joinpath("published", f"{name}.csv").open("r", encoding="utf-8") as file:
        return pd.read_csv(file)


def published_results() -> pd.DataFrame:
    """Both of the paper's large tables in the form of `results`: method, set, metric, mean, std."""
    parts = [published(metric).assign(metric=metric).rename(columns={"dataset": "set"}) for metric in METRICS]
    return pd.concat(parts, ignore_index=True)[["method", "set", "metric", "mean", "std"]]


def results(records: Iterable[Record]) -> pd.DataFrame:
    """Mean and sample deviation over seeds: method, set, metric, mean, std, runs, and what the paper has for it."""
    chosen = [record for record in latest(records) if record["status"] == "ok"]
    lines = [
        {"method": record["method"], "set": record["set"], "metric": metric, "value": record[metric] * scale}
        for record in chosen
        for metric, scale in [*((metric, 100) for metric in METRICS), *((metric, 1) for metric in SECONDS)]
    ]
    runs = pd.DataFrame(lines, columns=["method", "set", "metric", "value"])
    table = runs.groupby(["method", "set", "metric"], sort=False)["value"].agg(["mean", "std", "count"]).reset_index()
    return _with_published(table.rename(columns={"count": "runs"}))


def _with_published(table: pd.DataFrame) -> pd.DataFrame:
    """Add the paper's mean and deviation, and how many of its deviations ours is away."""
    names = {method.published: name for name, method in METHODS.items() if method.published}
    known = published_results()
    known["method"] = known["method"].map(names)
    known = known.rename(columns={"mean": "published_mean", "std": "published_std"})
    joined = table.merge(known, on=["method", "set", "metric"], how="left")
    # A published deviation of 0.00 says "below 0.005".
    away = (joined["mean"] - joined["published_mean"]) / joined["published_std"].clip(lower=0.005)
    return joined.assign(deviations=away)


def average_ranks(table: pd.DataFrame, ties: Any = "average") -> pd.DataFrame:
    """Each method's rank (1 = best) by mean, averaged over the sets all methods have: overall, roc_auc, pr_auc.

    `overall` is the mean of the two metrics' ranks; methods as index, best first.
    """
    ranks = {}
    for metric in METRICS:
        wide = table[table["metric"] == metric].pivot(index="method", columns="set", values="mean")
        ranks[metric] = wide.dropna(axis="columns").rank(ascending=False, method=ties).mean(axis="columns")
    both = pd.DataFrame(ranks)
    both.insert(0, "overall", both.mean(axis="columns", skipna=False))
    return both.sort_values("overall")


def ranks_among_published(table: pd.DataFrame) -> pd.DataFrame:
    """Each of our own methods in turn beside the paper's fourteen, on the sets both have: its ranks, and how many sets.

    The ranks run from 1 to 15.
    """
    known = published_results()
    lines = {}
    for name in [name for name in table["method"].unique() if name in METHODS and METHODS[name].group == "ours"]:
        own = table[(table["method"] == name) & table["metric"].isin(METRICS)]
        shared = set(own["set"]) & set(known["set"])
        if shared:
            own = own.assign(method=f"ours: {name}")
            together = pd.concat([own[known.columns.drop("std")], known.drop(columns="std")])
            ranks = average_ranks(together[together["set"].isin(shared)])
            lines[name] = {**ranks.loc[f"ours: {name}"], "sets": len(shared)}
    return pd.DataFrame.from_dict(lines, orient="index", columns=["overall", *METRICS, "sets"]).rename_axis("method")
