"""Tables as markdown."""

from __future__ import annotations

import math

import pandas as pd


def markdown(table: pd.DataFrame, digits: int = 2) -> str:
    """A table in markdown; numbers are rounded, cells without a value stay a dash.

    >>> print(markdown(pd.DataFrame({"method": ["mlp"], "rank": [1.5], "published": [float("nan")]})))
    | method | rank | published |
    | --- | --- | --- |
    | mlp | 1.50 | - |
    """
    if table.empty:
        return "None."

    def text(value: object) -> str:
        if pd.isna(value):  # type: ignore[call-overload]
            return "-"
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    head = [str(name) for name in table.columns]
    body = [[text(value) for value in line] for line in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def wide(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One metric as methods x sets, each cell with its deviation and, in brackets, the published value."""
    of_metric = table[table["metric"] == metric]
    values = of_metric[["mean", "std", "published_mean", "published_std"]]
    cells = of_metric.assign(cell=[cell(*line) for line in values.itertuples(index=False)])
    return cells.pivot(index="method", columns="set", values="cell").loc[of_metric["method"].unique()].reset_index()


def cell(mean: float, std: float, published_mean: float, published_std: float) -> str:
    """One cell of a large table.

    >>> cell(86.123, 4.5, 86.0, 4.61), cell(86.123, float("nan"), 86.0, float("nan"))
    ('86.12 ± 4.50 (86.00 ± 4.61)', '86.12 (86.00)')
    """
    ours = _with_deviation(mean, std)
    return ours if math.isnan(published_mean) else f"{ours} ({_with_deviation(published_mean, published_std)})"


def _with_deviation(mean: float, std: float) -> str:
    return f"{mean:.2f}" if math.isnan(std) else f"{mean:.2f} ± {std:.2f}"
