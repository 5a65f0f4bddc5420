"""One file, and nobody knows which rows are normal: whole tables without labels, and what a search promises.

In the part `tables` every method is given all rows of a table, at most 40,000 of them, and scores the same rows;
tables of the KEEL repository are called "keel/NAME". In the part `rates` a search goes through generated claims of
which a known share is odd, "claims@5%": how many of the rows it reports are normal, and whether the number of odd rows
is within the interval it gives. In the part `cost` a search is timed beside a plain fit and score of the same claims.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.bench.runs.measure import Record, Run, Split, failure, identity, measure, metrics
from maskdiff.bench.runs.methods import METHODS, Method, chosen
from maskdiff.bench.runs.sets import LabelledTable
from maskdiff.bench.studies.find_cost import cost_set, measure_cost
from maskdiff.bench.studies.more_tables import either_table, with_keel
from maskdiff.codes import FloatArray
from maskdiff.datasets import make_claims
from maskdiff.detectors import TableDetector
from maskdiff.detectors.finding.finder import search_batches
from maskdiff.detectors.finding.search import FindOptions, Found
from maskdiff.errors import SettingError

SETS = ("solar", "bank", "u2r", "probe", "chess", "apas", "r10", "claims", "cmc", "aid362", "fraud_oracle")
MOST_ROWS = 40_000
SHARES = (0.0, 0.01, 0.05, 0.2)
RATE_ROWS, RATE = 5000, 0.1
PARTS = ("tables", "rates", "cost")


class Finder:
    """A search through the rows it is fitted on; it scores only these."""

    def __init__(self, detector: TableDetector) -> None:
        self.detector = detector

    def fit(self, X: Any) -> Self:
        rows = self.detector._read(X)
        options = FindOptions(false_discovery_rate=RATE)
        self.found: Found = search_batches(self.detector, lambda: [rows], rows.n_rows, options)
        return self

    def anomaly_score(self, X: Any) -> FloatArray:
        return self.found.score

    def details(self, scores: FloatArray, y: NDArray[Any]) -> Record:
        """What was found, and what each round alone would have given."""
        both = 0 < y.sum() < len(y)
        by_round = [metrics(y, score) for score in self.found.scores] if both else []
        return {**found_record(self.found, y), "by_round": by_round}


def found_record(found: Found, y: NDArray[Any]) -> Record:
    """How many rows were reported, how many of those are normal, and the estimate beside the truth."""
    odd = found.estimated_odd
    return {
        "n_rows": len(y),
        "n_odd": int(y.sum()),
        "reported": int(found.is_anomaly.sum()),
        "false": int((found.is_anomaly & (y == 0)).sum()),
        "possible": most_found(y, found.alarm_score, RATE),
        "estimated": odd.number,
        "low": odd.low,
        "high": odd.high,
        "left_out": int(found.left_out.sum()),
        "rounds": len(found.rounds),
    }


def most_found(y: NDArray[Any], score: FloatArray, rate: float) -> int:
    """How many odd rows the order of these scores gives at most where no more than this share of those taken is normal.

    >>> most_found(np.array([1, 1, 0, 1, 0]), np.array([5.0, 4.0, 3.0, 2.0, 1.0]), rate=0.25)
    3
    """
    is_odd = np.asarray(y)[np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")]
    n_odd, n_taken = np.cumsum(is_odd), np.arange(1, len(is_odd) + 1)
    return int(n_odd[n_taken - n_odd <= rate * n_taken].max(initial=0))


def _find(reconstructor: str = "combined") -> Method:
    def build(seed: int, device: str) -> Finder:
        return Finder(TableDetector(reconstructor, seed=seed, device=device, progress=False))

    return Method(build, "ours")


# By the methods' names in the records.
COMPARED: dict[str, Method] = {
    "find": _find(),
    "fit and score": METHODS["default"],
    **{name: METHODS[name] for name in ("iforest", "copod", "ecod", "isotree", "hamming-knn")},
}
RECONSTRUCTORS = {"find": "combined", "find, kernel": "kernel"}
SEARCHES: dict[str, Method] = {name: _find(reconstructor) for name, reconstructor in RECONSTRUCTORS.items()}


@dataclass(frozen=True)
class OneFile:
    """Tables from the folder `data`, those of KEEL from the folder `keel`, or generated claims."""

    data: str | None = None
    part: str = "tables"
    keel: str | None = None
    name: str = field(init=False, default="find")
    warm_up: int = 0

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise SettingError(f"part must be one of {', '.join(PARTS)}; got {self.part!r}.")

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        every = list(wanted := tuple(wanted)) == ["all"]
        if self.part == "rates":
            return [f"claims@{share:.0%}" for share in SHARES] if every else list(wanted)
        if self.part == "cost":
            return [cost_set()] if every else [cost_set(int(rows)) for rows in wanted]
        return list(SETS) if every else with_keel(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        if self.part != "tables":
            return ["find"] if list(wanted := tuple(wanted)) == ["all"] else chosen(wanted, SEARCHES)
        return chosen(wanted, COMPARED)

    def table(self, run: Run) -> LabelledTable:
        """All rows of a run, and their labels."""
        if self.part == "tables":
            return cut_rows(either_table(run.set, self.data, self.keel), MOST_ROWS)
        return claims_with(float(run.set.rpartition("@")[2].rstrip("%")) / 100, RATE_ROWS, run.seed)

    def method(self, run: Run) -> Method:
        return (COMPARED if self.part == "tables" else SEARCHES)[run.method]


def cut_rows(table: LabelledTable, most: int) -> LabelledTable:
    """At most so many rows, drawn at random, in their order; the same for every run."""
    X, y = table
    if len(y) <= most:
        return table
    rows = np.sort(np.random.default_rng(0).choice(len(y), most, replace=False))
    return X.iloc[rows].reset_index(drop=True), y[rows]


def claims_with(share: float, n: int, seed: int) -> LabelledTable:
    """n claims of which this share is odd.

    >>> X, y = claims_with(0.05, 200, seed=1)
    >>> len(X), int(y.sum())
    (200, 10)
    """
    X, y = make_claims(n=2 * n + 500, seed=seed)
    rng, n_odd = np.random.default_rng(seed), round(share * n)
    parts = ((0, n - n_odd), (1, n_odd))
    rows = rng.permutation(np.concatenate([rng.choice(np.flatnonzero(y == of), k, replace=False) for of, k in parts]))
    return X.iloc[rows].reset_index(drop=True), y[rows]


def execute_find(run: Run, task: OneFile, device: str) -> Record:
    """Do a run and turn whatever goes wrong into a record."""
    try:
        if task.part == "cost":
            return measure_cost(run, RECONSTRUCTORS[run.method], device)
        X, y = task.table(run)
        if task.part == "tables":
            return measure(run, Split(X, X, y), task.method(run), device=device)
        return _rates(run, task.method(run), X, y, device)
    except Exception as error:  # one failed run must not stop the others
        return failure(run, device, error)


def _rates(run: Run, method: Method, X: Any, y: NDArray[Any], device: str) -> Record:
    finder: Any = method.build(run.seed, device)
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finder.fit(X)
    seconds = round(perf_counter() - began, 4)
    found = {**found_record(finder.found, y), "fit_seconds": seconds, "score_seconds": 0.0}
    ranked = metrics(y, finder.found.score) if y.any() else {"roc_auc": None, "pr_auc": None}
    return {**identity(run, device), "status": "ok", **found, **ranked}


def outcome(record: Record) -> str:
    """What a run gave, in one line."""
    if "ratio" in record:
        return f"a search takes {record['ratio']:.1f} times as long ({record['find_seconds']:.1f} s) as fit and score"
    ranked = "" if record["roc_auc"] is None else f"ROC {100 * record['roc_auc']:.1f}, PR {100 * record['pr_auc']:.1f}"
    if "reported" not in record:
        return ranked
    odd = f"{record['n_odd']} odd, estimated {record['estimated']} ({record['low']} to {record['high']})"
    return f"{ranked}; reported {record['reported']}, {record['false']} of them normal; {odd}".removeprefix("; ")
