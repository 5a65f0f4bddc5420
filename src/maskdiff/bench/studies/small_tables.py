"""Alarm rates of small tables: calibrated by all rows, or by rows that are kept back.

The split is the benchmark's. Of the normal rows in its training part only so many are learned from; the rows to score
stay the same. A data set here is a table and a number of rows, "bank@300".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import Method, chosen
from maskdiff.bench.runs.sets import cut_table, load_set, table_names
from maskdiff.detectors import TableDetector

SETS = ("bank", "claims")
NUMBERS = (300, 900)

SETTINGS: dict[str, dict[str, Any]] = {"all rows calibrate": {}, "rows are kept back": {"cross_fit_up_to": 0}}


@dataclass(frozen=True)
class SmallTables:
    """Tables from the folder `data`, of which few rows are learned from."""

    data: str | None = None
    name: str = "small tables"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        tables = SETS if list(wanted := tuple(wanted)) == ["all"] else table_names(wanted)
        return [f"{table}@{number}" for table in tables for number in NUMBERS]

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, {name: _method(name) for name in SETTINGS})

    def split(self, run: Run) -> Split:
        table, _, number = run.set.rpartition("@")
        whole = cut_table(load_set(table, self.data), run.seed)
        rows = np.random.default_rng(run.seed).permutation(len(whole.normal))[: int(number)]
        return Split(whole.normal.iloc[np.sort(rows)].reset_index(drop=True), whole.unlabelled, whole.y)

    def method(self, run: Run) -> Method:
        return _method(run.method)


def _method(name: str) -> Method:
    def build(seed: int, device: str) -> TableDetector:
        return TableDetector(**SETTINGS[name], seed=seed, device=device, progress=False)

    return Method(build, "ours")
