"""What Theorem 1 bounds and what is measured, as levels and views grow together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from maskdiff.bench.figures.guarantees import SIZES, simulate
from maskdiff.bench.figures.pictures import figure_of, save
from maskdiff.progress import Callback, listening


def measure(
    *,
    sizes: Sequence[int] = SIZES,
    n_test: int = 2000,
    seed: int = 0,
    progress: bool | Callback | None = None,
) -> pd.DataFrame:
    """See `maskdiff.bench.figures.guarantees.simulate`."""
    with listening(progress) as callback:
        return simulate(sizes, n_rows=n_test, seed=seed, callback=callback)


def draw(table: pd.DataFrame, path: Path) -> None:
    """False alarms, misses, and what spreads: rows or views."""
    figure, axes = figure_of(1, 3, size=(12.5, 3.8))
    left, middle, right = axes.flat
    _draw_errors(left, table, "false_alarms", "false alarms (Type I)")
    _draw_errors(middle, table, "misses", "misses (Type II)")
    left.plot(table["size"], table["conformal"], "x-", color="tab:green", ms=5, label="measured, conformal at 10%")
    left.plot(table["size"], table["false_alarms_model"], "o--", color="gray", ms=3, label="measured, model that errs")
    left.plot(table["size"], table["bound_model"], "-", color="tab:cyan", label="bound with the model's error")
    left.legend(fontsize=7, frameon=False, loc="lower left")
    right.plot(table["size"], table["spread_of_rows"], "o-", color="tab:red", ms=4, label="of rows: S*(x)")
    right.plot(table["size"], table["spread_of_views"], "s-", color="tab:blue", ms=4, label="of views: S(x) - S*(x)")
    right.set(title="standard deviation over normal rows", xscale="log", yscale="log", xlabel="levels L = views K")
    right.legend(fontsize=8, frameon=False)
    save(figure, path)


def _draw_errors(axis: Any, table: pd.DataFrame, error: str, title: str) -> None:
    size = table["size"]
    axis.plot(size, table[error], "o-", color="black", ms=4, label="measured")
    axis.plot(size, table[f"{error}_forever"], ":", color="black", label="with infinitely many views")
    axis.plot(size, table[f"{error}_theorem"], "--", color="tab:red", label="bound of Theorem 1")
    axis.plot(size, table[f"{error}_bound"], "-", color="tab:blue", label="bound that keeps the rows' spread")
    axis.set(title=title, xscale="log", yscale="log", xlabel="levels L = views K", ylim=(1e-3, 1.5))
    axis.legend(fontsize=7, frameon=False, loc="lower left")
