"""The page on baselines: average ranks in our own runs, and our figures beside the published ones."""

from __future__ import annotations

import math

import pandas as pd

from maskdiff.bench.pages.quality import TABLES, Quality
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, number, pair, places, section
from maskdiff.bench.published.values import METRICS
from maskdiff.bench.tables.critical_difference import Diagram
from maskdiff.bench.tables.ranks import average_ranks, comparable, published_ranks
from maskdiff.bench.tables.results import results


def own_results(records: RecordFolder) -> pd.DataFrame:
    """Means of every method on every table."""
    table = results(records.of(*TABLES))
    return table[table["metric"].isin(METRICS)]


def diagrams(records: RecordFolder) -> dict[str, Diagram]:
    """Average ranks in our own runs, for the critical-difference picture."""
    ranked, _, _ = comparable(own_results(records))
    ranks = average_ranks(ranked)
    return {title: Diagram(ranks[metric], ranked["set"].nunique()) for metric, title in METRICS.items()}


def ranks(table: pd.DataFrame) -> str:
    """Average ranks of all methods that were run."""
    ranked, few, _ = comparable(table)
    sets = sorted(ranked["set"].unique())
    beside = average_ranks(ranked).join(published_ranks()["published_overall"])
    lines = [
        [line["method"], *(_optional(line[column]) for column in ("overall", *METRICS, "published_overall"))]
        for line in beside.rename_axis("method").reset_index().to_dict("records")
    ]
    left_out = f" Left out, as run on fewer than half of the sets: {', '.join(few)}." if few else ""
    return section(
        "Average rank in our own runs",
        f"On the {number(len(sets))} sets that all {len(beside)} methods were run on: {', '.join(sets)}. More "
        f"methods stand beside the published fourteen, which moves the others down.{left_out}",
        grid(["method", "overall", "ROC", "PR", "published"], lines),
        "![Average ranks; methods joined by a bar are no further apart than chance](critical_difference.svg)",
    )


def _optional(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def not_in_the_paper(table: pd.DataFrame, sets: list[str]) -> str:
    """The sets without published values."""
    cells = {(line["method"], line["set"], line["metric"]): line["mean"] for line in table.to_dict("records")}
    methods = sorted(table["method"].unique(), key=lambda name: -cells.get((name, sets[0], "roc_auc"), 0.0))
    lines = []
    for name in methods:
        pairs = [[cells[key] for metric in METRICS if (key := (name, one, metric)) in cells] for one in sets]
        lines.append([name, *(pair(*found) if found else "not run" for found in pairs)])
    return section("Sets that are not in the paper", "ROC / PR.", grid(["method", *sets], lines))


def baselines_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    table, quality = own_results(records), Quality(records)
    return [
        "The paper's twelve baselines, isotree and LOF, on the paper's own splits; what each is: "
        "[the benchmark](../benchmark.md).",
        command(
            "maskdiff bench tables --data DIR --methods copod,ecod,hamming-knn,iforest,isotree,lof --seeds 5 \\",
            "    --out results/baselines.jsonl",
            "maskdiff bench tables --data DIR --seeds 5 --device cuda --jobs 12 --out results/baselines-deep.jsonl \\",
            "    --methods dte-gaussian,dte-categorical,dte-inverse-gamma,drl,mcm,goad,icl,deep-svdd",
        ),
        f"Measured on {places(records.of('baselines', 'baselines-deep'))}.",
        ranks(table),
        not_in_the_paper(table, sorted(quality.others)),
        "Beside the published figures: [the paper's tables](paper.md).",
    ]
