"""Means and deviations over seeds from records, with the published values beside them.

Metrics are in percent here, as in the paper. What was not run is left empty, never filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from maskdiff.bench.published.values import (
    KEYS,
    METRICS,
    SECONDS,
    published_results,
    published_seconds,
    published_texts,
)
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.runs.methods import METHODS, Method
from maskdiff.bench.runs.records import latest
from maskdiff.bench.runs.text_methods import TEXT_METHODS


def results(records: Iterable[Record]) -> pd.DataFrame:
    """Mean and sample deviation over seeds: method, set, metric, mean, std, runs, and what the paper has for it."""
    return _beside(_averaged(records), published_results(), METHODS)


def text_results(records: Iterable[Record]) -> pd.DataFrame:
    """The same for texts."""
    return _beside(_averaged(records), published_texts(), TEXT_METHODS)


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
    known = known.assign(method=known["method"].map(names_by_published(methods)))
    known = known.rename(columns={"mean": "published_mean", "std": "published_std"})
    joined = table.merge(known, on=KEYS, how="left")
    # A published deviation of 0.00 says "below 0.005".
    away = (joined["mean"] - joined["published_mean"]) / joined["published_std"].clip(lower=0.005)
    return joined.assign(deviations=away)


def names_by_published(methods: Mapping[str, Method]) -> dict[str, str]:
    """Our name of a method by its name in the paper."""
    return {method.published: name for name, method in methods.items() if method.published}
