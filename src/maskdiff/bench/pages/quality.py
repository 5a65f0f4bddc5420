"""What pages say of quality on tables: one look at the records of our methods beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import pair
from maskdiff.bench.published.values import METRICS, published_results
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.tables.ranks import average_ranks, rank_among_published, ranks_among_published
from maskdiff.bench.tables.results import results
from maskdiff.datasets.keel import keel_names

OURS = ("default", "mlp", "kernel", "mlp-paper", "kernel-paper")
NETWORK, KERNEL = "Parametric MaskDiff-AD", "Non-parametric MaskDiff-AD"
TABLES = ("tables", "baselines", "baselines-deep")
# How columns of further tables are headed, by group.
MORE_TABLES = {"categories": "of categories", "numbers": "of numbers", "held_out": "that took no part in any choice"}


@dataclass(frozen=True, eq=False)
class Quality:
    """Results of our methods on tables."""

    records: RecordFolder

    @cached_property
    def table(self) -> pd.DataFrame:
        """See `results`, of our methods."""
        own = results(self.records["tables"])
        return own[own["metric"].isin(METRICS)]

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Each of ours in turn beside the fourteen published methods."""
        return ranks_among_published(self.table).reindex(list(OURS)).dropna()

    @cached_property
    def fifteen(self) -> pd.DataFrame:
        """The default together with the fourteen published methods: all their ranks."""
        own = self.table[self.table["method"] == "default"].assign(method="maskdiff, default")
        known = published_results()
        shared = known[known["set"].isin(own["set"])]
        return average_ranks(pd.concat([own[own["set"].isin(known["set"])][list(known.columns)], shared]))

    @cached_property
    def shared(self) -> list[str]:
        """The sets that are published too, in the order of the paper."""
        known, own = published_results()["set"].unique(), set(self.table["set"])
        return [name for name in known if name in own]

    @cached_property
    def others(self) -> list[str]:
        """The sets that are not in the paper's tables."""
        return [name for name in self.table["set"].unique() if name not in self.shared]

    @cached_property
    def _values(self) -> dict[tuple[str, str, str], tuple[float, float]]:
        lines = self.table.to_dict("records")
        return {(line["method"], line["set"], line["metric"]): (line["mean"], line["std"]) for line in lines}

    def value(self, method: str, set_name: str, metric: str) -> tuple[float, float]:
        """Mean and deviation; NaN where it was not run."""
        return self._values.get((method, set_name, metric), (math.nan, math.nan))

    def mean(self, method: str, metric: str) -> float:
        """The mean over the sets that are published too."""
        return float(sum(self.value(method, name, metric)[0] for name in self.shared) / len(self.shared))

    def margins(self, metric: str = "roc_auc") -> pd.DataFrame:
        """The default beside the best published method, by set: ours, best, method, deviation, margin."""
        known = published_results().query("metric == @metric").set_index("set")
        lines = {}
        for name in self.shared:
            of_set = known.loc[name]
            best = of_set.loc[of_set["mean"] == of_set["mean"].max()].iloc[0]
            ours = self.value("default", name, metric)[0]
            lines[name] = (ours, best["mean"], best["method"], best["std"], ours - best["mean"])
        return pd.DataFrame.from_dict(lines, orient="index", columns=["ours", "best", "method", "deviation", "margin"])

    def near_the_best(self, metric: str) -> int:
        """On how many sets the default is first, or within one published deviation of the best published method."""
        table = self.margins(metric)
        return int((table["margin"] >= -table["deviation"]).sum())


def published_mean(method: str, metric: str, sets: Sequence[str]) -> float:
    """The mean of a published method over sets."""
    known = published_results().query("metric == @metric and method == @method")
    return float(known[known["set"].isin(sets)]["mean"].mean())


def best_of_others(metric: str, sets: Sequence[str]) -> tuple[float, str]:
    """The best of the twelve published methods that are not the paper's own, by the mean over sets, and its name."""
    known = published_results().query("metric == @metric")
    known = known[~known["method"].isin([NETWORK, KERNEL]) & known["set"].isin(sets)]
    by_method = known.groupby("method", sort=False)["mean"].mean()
    return float(by_method.max()), str(by_method.idxmax())


def added_evidence(records: list[Record]) -> pd.DataFrame:
    """The default as its terms of evidence are added: term, set, roc_auc, pr_auc in percent."""
    lines = [
        {"term": term, "set": record["set"], "roc_auc": 100 * roc, "pr_auc": 100 * pr}
        for record in records
        for term, (roc, pr) in record.get("added_up", {}).items()
    ]
    return pd.DataFrame(lines).groupby(["term", "set"], as_index=False, sort=False).mean()


def rank_of(table: pd.DataFrame) -> float:
    """The overall rank among the published of one method: set, roc_auc, pr_auc."""
    long = table.melt("set", list(METRICS), var_name="metric", value_name="mean")
    return float(rank_among_published(long)["overall"])


def mean_pair(part: pd.DataFrame) -> str:
    """Mean ROC / PR of some results; nothing where there are none."""
    return pair(part["roc_auc"].mean(), part["pr_auc"].mean()) if len(part) else ""


def more_groups(records: list[Record]) -> dict[str, list[str]]:
    """The further tables that were measured, by group; groups of which none was are left out."""
    measured = {record["set"] for record in records}
    found = {group: [name for name in names if name in measured] for group, names in keel_names().items()}
    return {group: names for group, names in found.items() if names}
