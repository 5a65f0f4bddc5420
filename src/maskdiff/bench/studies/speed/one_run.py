"""One method on one table, in a process of its own: what `python -m maskdiff.bench.studies.speed.one_run` prints.

A process of its own has its own peak of memory, can be stopped at a time limit, and pays for what it loads.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

from maskdiff.bench.baselines.plain_equations import plain_equations
from maskdiff.bench.runs.measure import Record, peak_memory
from maskdiff.bench.runs.methods import METHODS, Method, on_codes
from maskdiff.bench.studies.speed.tables import make_table
from maskdiff.cascade import ALARMS, FULL, Effort
from maskdiff.codes import FloatArray
from maskdiff.detectors import TableDetector
from maskdiff.encoders.table.encoder import TableEncoder

# From more rows nothing learns more that is measured here.
MOST_LEARNED = 40_000
_WARM_UP, _SINGLE = 200, 20
# Rows are scored so many at a time, as a file is.
_AT_ONCE = 100_000
# Scoring that takes less is repeated: other processes can only add to its processor time, so the least counts.
_SHORT, _REPEATED = 15.0, 3


class JudgedCells:
    """The default, every row by the whole grid; scores come with a verdict on every single cell."""

    def __init__(self, detector: TableDetector) -> None:
        self.detector = detector

    def fit(self, X: Any) -> Self:
        """Learn from normal rows."""
        self.detector.fit(X)
        return self

    def anomaly_score(self, X: Any) -> FloatArray:
        """What is compared with the threshold, shape (N,)."""
        return self.detector.judge(X).alarm_score


def _with_effort(effort: Effort) -> Callable[[int, str], TableDetector]:
    return lambda seed, device: TableDetector(effort=effort, seed=seed, device=device, progress=False)


SPEED_METHODS: dict[str, Method] = {
    **{name: METHODS[name] for name in ("default", "mlp", "kernel", "iforest", "isotree", "ecod", "hamming-knn")},
    "alarms": Method(_with_effort(ALARMS), "ours"),  # as `maskdiff score` uses the default
    "whole-grid": Method(_with_effort(FULL), "ours"),
    "whole-grid-cells": Method(lambda seed, device: JudgedCells(_with_effort(FULL)(seed, device)), "ours"),
    "plain-equations": on_codes(plain_equations),
}


def measure_one(method: str, rows: int, columns: int, device: str = "cpu") -> Record:
    """Seconds to fit and to score so many rows, of one row alone, and the most megabytes held."""
    table = make_table(rows, columns)
    learned = table[: min(rows, MOST_LEARNED)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SPEED_METHODS[method].build(0, device).fit(learned[:_WARM_UP]).anomaly_score(learned[:_WARM_UP])
        detector = SPEED_METHODS[method].build(0, device)
        fit_seconds = seconds_of(partial(detector.fit, learned))
        first = seconds_of(partial(detector.anomaly_score, table[:1]))
        single = [seconds_of(partial(detector.anomaly_score, table[at : at + 1])) for at in range(1, _SINGLE)]
        parts = [table[at : at + _AT_ONCE] for at in range(0, rows, _AT_ONCE)]
        score = partial(_score_all, detector, parts)
        began = time.process_time()
        score_seconds = seconds_of(score)
        processor_seconds = [time.process_time() - began]
        if score_seconds < _SHORT:
            processor_seconds += [seconds_of(score, time.process_time) for _ in range(_REPEATED)]
    return {
        "rows": rows,
        "columns": columns,
        "learned_rows": len(learned),
        "codes": int(TableEncoder().fit(learned).schema_.sizes.sum()),
        "fit_seconds": round(fit_seconds, 4),
        "score_seconds": round(score_seconds, 4),
        "score_processor_seconds": round(min(processor_seconds), 4),  # of all threads
        "rows_per_second": round(rows / score_seconds, 1),
        "first_row_ms": round(1000 * first, 3),
        "one_row_ms": round(1000 * sorted(single)[len(single) // 2], 3),
        "peak_memory_mb": peak_memory(),
    }


def _score_all(detector: Any, parts: Sequence[Any]) -> None:
    for part in parts:
        detector.anomaly_score(part)


def seconds_of(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call takes by this clock."""
    began = clock()
    call()
    return clock() - began


def main(arguments: Sequence[str]) -> None:
    """Method, rows, columns and device in; one line of JSON out."""
    method, rows, columns, device = arguments
    print(json.dumps(measure_one(method, int(rows), int(columns), device)))


if __name__ == "__main__":
    main(sys.argv[1:])
