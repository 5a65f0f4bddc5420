"""What anomalies among the rows to learn from cost, and what `contamination=` wins back.

The split is the benchmark's. Of the anomalies in its training part so many are put among the normal rows that they are
the given share of all; the rows to score stay the same. A data set here is a table and a share, "bank+5%".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.bench.runs.measure import Record, Run, Split
from maskdiff.bench.runs.methods import Method, chosen
from maskdiff.bench.runs.sets import load_set, table_names, train_and_test
from maskdiff.detectors import TableDetector
from maskdiff.errors import InputError

SHARES = (0.0, 0.01, 0.02, 0.05)
# The sets with enough anomalies; solar has too few for 5%.
SETS = ("ad", "bank", "census", "claims", "fraud_oracle", "probe", "solar")

# By the methods' names in the records: the settings that go with a share.
SETTINGS: dict[str, Callable[[float], dict[str, Any]]] = {
    "default": lambda share: {},
    "default, told the share": lambda share: {"contamination": share},
    "default, decided by the scores": lambda share: {"contamination": "auto"},
    "plain score": lambda share: {"reconstructor": "mlp"},
}


@dataclass(frozen=True)
class Contamination:
    """Tables from the folder `data`, with anomalies among the rows to learn from."""

    data: str | None = None
    name: str = "contamination"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        """Each table with each share it has enough anomalies for."""
        tables = SETS if list(wanted := tuple(wanted)) == ["all"] else table_names(wanted)
        return [f"{table}+{share:.0%}" for table in tables for share in self._shares(table)]

    def _shares(self, table: str) -> list[float]:
        _, y = load_set(table, self.data)
        train, _ = train_and_test(y, seed=0)
        n_anomalies = int(y[train].sum())
        return [share for share in SHARES if anomalies_needed(len(train) - n_anomalies, share) <= n_anomalies]

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, {name: _method(name, 0.0) for name in SETTINGS})

    def split(self, run: Run) -> Split:
        table, share = table_and_share(run.set)
        X, y = load_set(table, self.data)
        train, test = train_and_test(y, run.seed)
        rows = training_rows(y, train, share, run.seed)
        return Split(X.iloc[rows].reset_index(drop=True), X.iloc[test].reset_index(drop=True), y[test])

    def method(self, run: Run) -> Method:
        return _method(run.method, table_and_share(run.set)[1])


def table_and_share(name: str) -> tuple[str, float]:
    """What a name stands for.

    >>> table_and_share("bank+5%")
    ('bank', 0.05)
    """
    table, _, share = name.rpartition("+")
    return table, float(share.rstrip("%")) / 100


def anomalies_needed(n_normal: int, share: float) -> int:
    """How many anomalies among so many normal rows are this share of all."""
    return round(share * n_normal / (1 - share))


def training_rows(y: NDArray[np.int8], train: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """The normal rows of the training part, and so many of its anomalies that they are this share, shuffled."""
    normal, anomalies = train[y[train] == 0], train[y[train] == 1]
    needed = anomalies_needed(len(normal), share)
    if needed > len(anomalies):
        raise InputError(f"a share of {share:.0%} needs {needed} anomalies; the training rows hold {len(anomalies)}.")
    rng = np.random.default_rng(seed)
    return rng.permutation(np.concatenate([normal, rng.choice(anomalies, needed, replace=False)]))


def alarm_share(record: Record) -> float:
    """The share of normal rows that raise an alarm at a false-alarm rate of 5%."""
    if "false_alarms_at_5%" in record:
        return float(record["false_alarms_at_5%"])
    return float(record["false_alarms"]["0.05"] / record["n_normal"])


def _method(name: str, share: float) -> Method:
    def build(seed: int, device: str) -> TableDetector:
        return TableDetector(**SETTINGS[name](share), seed=seed, device=device, progress=False)

    return Method(build, "ours")
