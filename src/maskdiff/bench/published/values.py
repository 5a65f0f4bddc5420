"""The paper's tables in the form in which results are kept: method, set, metric, mean, std; metrics in percent."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

METRICS = {"roc_auc": "ROC-AUC", "pr_auc": "PR-AUC"}
SECONDS = {"fit_seconds": "fit", "score_seconds": "score", "total_seconds": "total"}
KEYS = ["method", "set", "metric"]
# The paper's names of the sets of texts.
TEXT_SETS = {"AGNews": "agnews", "Email Spam": "email", "SMS Spam": "sms", "YelpReview": "yelp"}


@cache
def published(name: str) -> pd.DataFrame:
    """One of the paper's tables: "roc_auc", "pr_auc", "average_ranks", "runtime_seconds", "text" or "datasets"."""
    with files(__package__).joinpath(f"{name}.csv").open("r", encoding="utf-8") as file:
        return pd.read_csv(file)


def published_results() -> pd.DataFrame:
    """Both of the paper's large tables."""
    parts = [published(metric).assign(metric=metric).rename(columns={"dataset": "set"}) for metric in METRICS]
    return pd.concat(parts, ignore_index=True)[[*KEYS, "mean", "std"]]


def published_texts() -> pd.DataFrame:
    """The paper's table of texts; it has no deviations."""
    long = published("text").melt(["method", "dataset"], list(METRICS), var_name="metric", value_name="mean")
    named = long.assign(set=long["dataset"].map(TEXT_SETS), std=float("nan"))
    return named[[*KEYS, "mean", "std"]]


def published_seconds() -> pd.DataFrame:
    """The paper's table of runtimes; its Vehicle Claims stand beside the generated claims."""
    long = published("runtime_seconds").rename(columns={title: metric for metric, title in SECONDS.items()})
    long = long.melt(["method", "dataset"], list(SECONDS), var_name="metric", value_name="mean")
    named = long.assign(set=long["dataset"].replace("vehicle_claims", "claims-large"), std=float("nan"))
    return named[[*KEYS, "mean", "std"]]
