"""Tables from records: means and deviations, average ranks, ours beside the published values.

Metrics are in percent here, as in the paper. What was not run is left empty, never filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from maskdiff.bench import text_methods
from maskdiff.bench.measure import Record
from maskdiff.bench.methods import METHODS, Method
from maskdiff.bench.records import latest

METRICS = {"roc_auc": "ROC-AUC", "pr_auc": "PR-AUC"}
SECONDS = {"fit_seconds": "fit", "score_seconds": "score", "total_seconds": "total"}
# The paper's names of the sets of texts.
PUBLISHED_TEXTS = {"AGNews": "agnews", "Email Spam": "email", "SMS Spam": "sms", "YelpReview": "yelp"}
KEYS = ["method", "set", "metric"]


@cache
def published(name: str) -> pd.DataFrame:
    """One of the paper's tables: "roc_auc", "pr_auc", "average_ranks", "runtime_seconds", "text" or "datasets"."""
    with files(__package__).joinpath("published", f"{name}.csv").open("r", encoding="utf-8") as file:
        return pd.read_csv(file)


def published_results() -> pd.DataFrame:
    """Both of the paper's large tables in the form of `results`: method, set, metric, mean, std."""
    parts = [published(metric).assign(metric=metric).rename(columns={"dataset": "set"}) for metric in METRICS]
    return pd.concat(parts, ignore_index=True)[[*KEYS, "mean", "std"]]


def published_texts() -> pd.DataFrame:
    """The paper's table of texts in the same form; it has no deviations."""
    long = published("text").melt(["method", "dataset"], list(METRICS), var_name="metric", value_name="mean")
    named = long.assign(set=long["dataset"].map(PUBLISHED_TEXTS), std=float("nan"))
    return named[[*KEYS, "mean", "std"]]


def published_seconds() -> pd.DataFrame:
    """The paper's table of runtimes in the same form; its Vehicle Claims stand beside the generated claims."""
    long = published("runtime_seconds").rename(columns={title: metric for metric, title in SECONDS.items()})
    long = long.melt(["method", "dataset"], list(SECONDS), var_name="metric", value_name="mean")
    named = long.assign(set=long["dataset"].replace("vehicle_claims", "claims-large"), std=float("nan"))
    return named[[*KEYS, "mean", "std"]]


def results(records: Iterable[Record]) -> pd.DataFrame:
    """Mean and sample deviation over seeds: method, set, metric, mean, std, runs, and what the paper has for it."""
    return _beside(_averaged(records), published_results(), METHODS)


def text_results(records: Iterable[Record]) -> pd.DataFrame:
    """The same for texts."""
    return _beside(_averaged(records), published_texts(), text_methods.METHODS)


def runtime_results(records: Iterable[Record]) -> pd.DataFrame:
    """The same for seconds."""
    table = _averaged(records)
    return _beside(table[table["metric"].isin(SECONDS)], published_seconds(), METHODS)


def _averaged(records: Iterable[Record]) -> pd.DataFrame:
    done = [record for record in latest(records) if record["status"] == "ok"]
    lines = [
        {"method": record["method"], "set": record["set"], "metric": metric, "value": value}
        for record in done
        for metric, value in _values(record).items()
    ]
    runs = pd.DataFrame(lines, columns=[*KEYS, "value"])
    table = runs.groupby(KEYS, sort=False)["value"].agg(["mean", "std", "count"]).reset_index()
    return table.rename(columns={"count": "runs"})


def _values(record: Record) -> dict[str, float]:
    quality = {metric: 100 * record[metric] for metric in METRICS}
    fit, score = record["fit_seconds"], record["score_seconds"]
    return {**quality, "fit_seconds": fit, "score_seconds": score, "total_seconds": fit + score}


def _beside(table: pd.DataFrame, known: pd.DataFrame, methods: Mapping[str, Method]) -> pd.DataFrame:
    """Add the paper's mean and deviation, and how many of its deviations ours is away."""
    names = {method.published: name for name, method in methods.items() if method.published}
    known = known.assign(method=known["method"].map(names))
    known = known.rename(columns={"mean": "published_mean", "std": "published_std"})
    joined = table.merge(known, on=KEYS, how="left")
    # A published deviation of 0.00 says "below 0.005".
    away = (joined["mean"] - joined["published_mean"]) / joined["published_std"].clip(lower=0.005)
    return joined.assign(deviations=away)


def comparable(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The results that can be ranked together: every method of them on every set of them.

    Methods that were run on less than half as many sets as others are left out, then sets that one of the rest lacks;
    both are returned too.
    """
    quality = table[table["metric"].isin(METRICS)]
    n_sets = quality.groupby("method", sort=False)["set"].nunique()
    few = n_sets.index[n_sets < n_sets.max() / 2].tolist()
    kept = quality[~quality["method"].isin(few)]
    n_methods = kept.groupby("set", sort=False)["method"].nunique()
    partial = n_methods.index[n_methods < kept["method"].nunique()].tolist()
    return kept[~kept["set"].isin(partial)], few, partial


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


def published_ranks() -> pd.DataFrame:
    """The paper's table of average ranks under our methods' names, as index."""
    names = {method.published: name for name, method in METHODS.items() if method.published}
    told = published("average_ranks")
    return told.assign(method=told["method"].map(names)).set_index("method").add_prefix("published_")


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
