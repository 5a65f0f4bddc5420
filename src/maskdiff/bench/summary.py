"""The summary of result files, for people (markdown) and for programs (CSV)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from maskdiff.bench.measure import Record
from maskdiff.bench.ranks import METRICS, average_ranks, ranks_among_published, results
from maskdiff.bench.records import latest

FAR = 2.0  # published deviations beyond which a difference is listed


@dataclass(frozen=True)
class Summary:
    """The same results twice: `markdown`, and CSV texts by file name."""

    markdown: str
    csv: dict[str, str]

    def write(self, folder: str | Path) -> None:
        """Write summary.md and the CSV files into a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"summary.md": self.markdown, **self.csv}.items():
            (folder / name).write_text(text, encoding="utf-8")


def summary(records: Iterable[Record]) -> Summary:
    """Average ranks, both large tables, ours beside the published values, and what failed."""
    chosen = latest(records)
    table = results(chosen)
    ranks = average_ranks(table)
    among = ranks_among_published(table)
    parts = [
        *("## Average ranks in these runs", _sets_ranked(table), _markdown(ranks.reset_index(), digits=2)),
        *("## Ours among the published results", "Each of our methods in turn beside the paper's fourteen."),
        _markdown(among.reset_index(), digits=2),
        *_large_tables(table),
        *("## Far from the published value", f"Means more than {FAR:g} published deviations away.", _far_table(table)),
        *("## Failed runs", _failures(chosen)),
        *("## Where this ran", _places(chosen)),
    ]
    csv = {
        "results.csv": table.round(4).to_csv(index=False),
        "average_ranks.csv": ranks.round(3).to_csv(),
        "ranks_among_published.csv": among.round(3).to_csv(),
    }
    return Summary("\n\n".join(parts) + "\n", csv)


def _sets_ranked(table: pd.DataFrame) -> str:
    """Which sets the ranks are over, and which were left out because a method is missing there."""
    quality = table[table["metric"] == "roc_auc"]
    methods = quality.groupby("set", sort=False)["method"].nunique()
    complete = methods.index[methods == quality["method"].nunique()].tolist()
    partial = methods.index.difference(complete).tolist()
    left_out = f" Left out, as not every method has a result there: {', '.join(partial)}." if partial else ""
    return f"Over {len(complete)} sets: {', '.join(complete)}.{left_out}"


def _large_tables(table: pd.DataFrame) -> list[str]:
    parts = []
    for metric, title in METRICS.items():
        of_metric = table[table["metric"] == metric]
        cells = of_metric.assign(cell=[_cell(*line) for line in of_metric[_CELL].itertuples(index=False)])
        wide = cells.pivot(index="method", columns="set", values="cell")
        order = of_metric["method"].unique()
        parts += [f"## {title} in percent (published in brackets)", _markdown(wide.loc[order].reset_index())]
    return parts


_CELL = ["mean", "std", "published_mean", "published_std"]


def _cell(mean: float, std: float, published_mean: float, published_std: float) -> str:
    """One cell of a large table.

    >>> _cell(86.123, 4.5, 86.0, 4.61)
    '86.12 ± 4.50 (86.00 ± 4.61)'
    """
    ours = f"{mean:.2f}" + ("" if math.isnan(std) else f" ± {std:.2f}")
    return ours if math.isnan(published_mean) else f"{ours} ({published_mean:.2f} ± {published_std:.2f})"


def _far_table(table: pd.DataFrame) -> str:
    far = table[table["deviations"].abs() > FAR]
    columns = ["method", "set", "metric", "runs", "mean", "published_mean", "published_std", "deviations"]
    return _markdown(far[columns].sort_values(["method", "set"]), digits=2)


def _failures(records: Sequence[Record]) -> str:
    failed = [record for record in records if record["status"] != "ok"]
    lines = [f"- {r['set']}, {r['method']}, seed {r['seed']}: {r['error'].splitlines()[0]}" for r in failed]
    return "\n".join(lines) or "None."


def _places(records: Sequence[Record]) -> str:
    """Devices and versions, each combination once."""
    told = {
        f"- {record['device']}, {record['threads']} threads: "
        + ", ".join(f"{name} {number}" for name, number in record["versions"].items())
        for record in records
    }
    return "\n".join(sorted(told))


def _markdown(table: pd.DataFrame, digits: int = 2) -> str:
    """A table in markdown; numbers are rounded, cells without a value stay a dash."""
    if table.empty:
        return "None."

    def text(value: object) -> str:
        if pd.isna(value):  # type: ignore[call-overload]
            return "-"
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    head = [str(name) for name in table.columns]
    body = [[text(value) for value in line] for line in table.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])
