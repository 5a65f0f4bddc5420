"""How much is learned from more rows: the default on large tables, given this many of their normal rows.

The split is the benchmark's. Of the normal rows in its training part only so many are learned from, drawn at random; of
its test part the same 20,000 rows are scored each time. A data set here is a table and a number, "census@10000", or
"census@all".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import METHODS, Method, chosen
from maskdiff.bench.runs.sets import cut_table, load_set, table_names

SETS = ("census", "covertype", "claims-large")
NUMBERS = ("1000", "3000", "10000", "30000", "100000", "all")
MOST_SCORED = 20_000


@dataclass(frozen=True)
class LearnedRows:
    """Large tables from the folder `data`, of which some rows are learned from."""

    data: str | None = None
    name: str = "learned rows"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """Each table with each number of rows, or those that are named with one."""
        names = SETS if list(wanted := tuple(wanted)) == ["all"] else wanted
        tables = dict.fromkeys(name.partition("@")[0] for name in names)
        table_names(tables)
        return [each for name in names for each in ([name] if "@" in name else [f"{name}@{n}" for n in NUMBERS])]

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, {"default": METHODS["default"]})

    def split(self, run: Run) -> Split:
        table, _, number = run.set.rpartition("@")
        whole = cut_table(load_set(table, self.data), run.seed)
        n_learned = len(whole.normal) if number == "all" else int(number)
        rng = np.random.default_rng(run.seed)
        learned = np.sort(rng.permutation(len(whole.normal))[:n_learned])
        scored = np.sort(rng.permutation(len(whole.y))[:MOST_SCORED])
        normal, test = whole.normal.iloc[learned], whole.unlabelled.iloc[scored]
        return Split(normal.reset_index(drop=True), test.reset_index(drop=True), whole.y[scored])

    def method(self, run: Run) -> Method:
        return METHODS[run.method]
