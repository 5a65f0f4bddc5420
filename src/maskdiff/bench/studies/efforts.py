"""What a first look costs: the alarms and the ranking of each effort, beside those of the whole grid."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from maskdiff.bench.runs.measure import Record, Run, Split, failure, identity, metrics
from maskdiff.bench.runs.methods import METHODS, Method, chosen
from maskdiff.bench.runs.sets import cut_table, load_set, table_names
from maskdiff.cascade import ALARMS, AUTO, FULL
from maskdiff.detectors import Verdicts

RATE = 0.01


@dataclass(frozen=True)
class Efforts:
    """The default on tables from the folder `data`, with every effort."""

    data: str | None = None
    name: str = "efforts"
    warm_up: int = 0

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return table_names(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        return chosen(wanted, {"default": METHODS["default"]})

    def split(self, run: Run) -> Split:
        return cut_table(load_set(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return METHODS[run.method]


def execute_efforts(run: Run, task: Efforts, device: str) -> Record:
    """Fit once, judge the same rows with each effort; whatever goes wrong becomes a record."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {
                **identity(run, device),
                "status": "ok",
                **_measured(task.split(run), task.method(run), run, device),
            }
    except Exception as error:  # one failed run must not stop the others
        return failure(run, device, error)


def _measured(split: Split, method: Method, run: Run, device: str) -> Record:
    detector: Any = method.build(run.seed, device)
    began = time.perf_counter()
    detector.fit(split.normal)
    fit_seconds, judged, seconds = time.perf_counter() - began, {}, {}
    for effort in (FULL, AUTO, ALARMS):
        began = time.perf_counter()
        judged[effort] = detector.with_effort(effort, RATE).judge(split.unlabelled, RATE)
        seconds[effort] = round(time.perf_counter() - began, 4)
    whole = judged[FULL]
    return {
        "rate": RATE,
        "n_test": len(split.unlabelled),
        "fit_seconds": round(fit_seconds, 4),
        "score_seconds": seconds[FULL],
        "efforts": {
            effort: {
                **metrics(split.y, verdicts.anomaly_score),
                "agreement": float((verdicts.is_anomaly == whole.is_anomaly).mean()),
                "alarms": float(verdicts.is_anomaly.mean()),
                "whole_grid": _whole_grid(verdicts),
                "score_seconds": seconds[effort],
            }
            for effort, verdicts in judged.items()
        },
    }


def _whole_grid(verdicts: Verdicts) -> float:
    """The share of the rows that the whole grid judged."""
    return 1.0 if verdicts.looks is None else float((verdicts.looks > 1).mean())


def agreement(record: Record) -> str:
    """What a run gave, in a few words."""
    parts = (f"{effort} {100 * record['efforts'][effort]['agreement']:.2f}%" for effort in (AUTO, ALARMS))
    return f"alarms as by the whole grid: {', '.join(parts)}"
