"""Means that are far from the published ones, each with its explanation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from maskdiff.bench.pages.text_blocks import grid, section, with_deviation
from maskdiff.bench.published.values import METRICS
from maskdiff.bench.tables.summary import FAR

CHANCE = "Within two deviations of our own seeds."


def differences(table: pd.DataFrame, known: Iterable[Mapping[str, Any]]) -> str:
    """All means that are far away; `known` has methods, sets and an explanation each."""
    chosen = table[table["deviations"].abs() > FAR].sort_values(["method", "set"])
    explained = list(known)
    lines = [
        [
            *(line["method"], line["set"], METRICS[line["metric"]], with_deviation(line["mean"], line["std"])),
            with_deviation(line["published_mean"], line["published_std"]),
            *(f"{line['deviations']:+.1f}", _why(line, explained)),
        ]
        for line in chosen.to_dict("records")
    ]
    head = ["method", "set", "metric", "ours", "published", "deviations away", "why"]
    text = f"More than {FAR:g} published deviations. Published deviations are those of five seeds, as ours are."
    return section("Far from the published value", text, grid(head, lines))


def _why(line: Mapping[Any, Any], known: Iterable[Mapping[str, Any]]) -> str:
    """The explanation that is known; else chance, where our own seeds differ as much."""
    for one in known:
        if line["method"] in one["methods"] and line["set"] in one["sets"]:
            return str(one["why"])
    apart = abs(line["mean"] - line["published_mean"])
    return CHANCE if apart <= FAR * line["std"] else "No cause was found."
