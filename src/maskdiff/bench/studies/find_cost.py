"""What a search costs beside a plain fit and score of the same rows, timed in one run."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

from maskdiff.bench.runs.measure import Record, Run, identity, peak_memory
from maskdiff.datasets import make_claims
from maskdiff.detectors import TableDetector
from maskdiff.detectors.finding.finder import fit_find_batches
from maskdiff.detectors.finding.search import FindOptions

ROWS = 40_000
# On so many rows everything is done once before it is timed: libraries load, loops are compiled.
_WARM_UP = 200


def cost_set(rows: int = ROWS) -> str:
    """The name of the set of so many claims.

    >>> cost_set(1000)
    '1,000 claims'
    """
    return f"{rows:,} claims"


def rows_of(name: str) -> int:
    """How many claims a name stands for.

    >>> rows_of("1,000 claims")
    1000
    """
    return int(name.split()[0].replace(",", ""))


def measure_cost(run: Run, reconstructor: str, device: str) -> Record:
    """Seconds of a fit and of a score, of a search of the same rows, and how many times as long that takes."""

    def timed(step: Any, X: Any) -> float:
        began = perf_counter()
        step(X)
        return round(perf_counter() - began, 4)

    def built() -> TableDetector:
        return TableDetector(reconstructor, seed=run.seed, device=device, progress=False)

    X, _ = make_claims(n=rows_of(run.set), seed=run.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few, plain = X[:_WARM_UP], built()
        built().fit(few).anomaly_score(few)
        fit_seconds, score_seconds = timed(plain.fit, X), timed(plain.anomaly_score, X)
        find_seconds = timed(lambda rows: _search(built(), rows), X)
    ratio = find_seconds / (fit_seconds + score_seconds)
    seconds = {"fit_seconds": fit_seconds, "score_seconds": score_seconds, "find_seconds": find_seconds}
    memory = {"peak_memory_mb": peak_memory()}
    return {**identity(run, device), "status": "ok", "n_rows": len(X), **seconds, "ratio": round(ratio, 3), **memory}


def _search(detector: TableDetector, X: Any) -> None:
    rows = detector._read(X)
    fit_find_batches(detector, lambda: [rows], rows.n_rows, FindOptions())
