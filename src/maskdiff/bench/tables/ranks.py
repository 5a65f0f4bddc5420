"""Average ranks: of the methods that were measured, and of ours among the published ones."""

from __future__ import annotations

from typing import Any

import pandas as pd

from maskdiff.bench.published.values import METRICS, published, published_results
from maskdiff.bench.runs.methods import METHODS
from maskdiff.bench.tables.results import names_by_published


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
    ranks = published("average_ranks")
    ranks = ranks.assign(method=ranks["method"].map(names_by_published(METHODS)))
    return ranks.set_index("method").add_prefix("published_")


def ranks_among_published(table: pd.DataFrame) -> pd.DataFrame:
    """Each of our own methods in turn beside the paper's fourteen, on the sets both have: its ranks, and how many sets.

    The ranks run from 1 to 15.
    """
    ours = [name for name in table["method"].unique() if name in METHODS and METHODS[name].group == "ours"]
    lines = {name: rank_among_published(table[table["method"] == name]) for name in ours}
    known = {name: line for name, line in lines.items() if line["sets"]}
    return pd.DataFrame.from_dict(known, orient="index", columns=["overall", *METRICS, "sets"]).rename_axis("method")


def rank_among_published(own: pd.DataFrame) -> dict[str, float]:
    """The ranks of one method (set, metric, mean) beside the paper's fourteen: overall, roc_auc, pr_auc, sets."""
    known = published_results().drop(columns="std")
    shared = set(own["set"]) & set(known["set"])
    if not shared:
        return {"sets": 0}
    own = own[own["metric"].isin(METRICS)].assign(method="this one")
    together = pd.concat([own[known.columns], known])
    ranks = average_ranks(together[together["set"].isin(shared)])
    return {**{name: float(ranks[name]["this one"]) for name in ("overall", *METRICS)}, "sets": len(shared)}
