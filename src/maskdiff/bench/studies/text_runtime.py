"""How long texts and sequences take with the default, and how well each effort agrees with the whole grid.

One fit and one pass over the test set for each effort, after a small fit to warm up. Agreement is the share of rows
that both call an alarm at 1%, or neither does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from maskdiff.bench.runs.measure import Record, Run, identity, metrics, peak_memory
from maskdiff.bench.runs.records import RecordFile
from maskdiff.bench.runs.sets import SEQUENCES
from maskdiff.bench.studies.text_work import TrainingWork, product_rate
from maskdiff.cascade import ALARMS, AUTO, FULL
from maskdiff.codes import FloatArray
from maskdiff.datasets.text import split_text
from maskdiff.detectors import SequenceDetector, TextDetector, TokenDetector, Verdicts
from maskdiff.detectors.split import split_rows

TASK = "text runtime"
_WARM_UP = 60


@dataclass(frozen=True)
class RuntimeSettings:
    """What is timed: learning from `rows` texts and scoring `scored` ones, all of the set's own where None.

    Meanwhile `busy` other processes compute without end.
    """

    rows: int | None = None
    scored: int | None = None
    busy: int = 0
    seed: int = 0


def measure_text_runtime(
    name: str,
    settings: RuntimeSettings,
    out: str | os.PathLike[str],
    *,
    data: str | None = None,
    device: str = "auto",
    detector: TokenDetector | None = None,
) -> Record:
    """Measure once and add the record to `out`; another `detector` than the default may be given."""
    train, test, y = split_text(name, data, seed=settings.seed)
    chosen = np.random.default_rng(settings.seed).permutation(len(test))[: settings.scored]
    train, test, y = train[: settings.rows], [test[place] for place in chosen], y[chosen]
    own = SequenceDetector if name in SEQUENCES else TextDetector
    detector = detector or own(seed=settings.seed, device=device, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        type(detector)(**detector.get_params(deep=False)).fit(train[:_WARM_UP]).judge(test[:5])
        with busy_processes(settings.busy):
            _, fit_seconds = _timed(lambda: detector.fit(train))
            judged = {e: _timed(partial(_judge, detector, e, test)) for e in (AUTO, ALARMS, FULL)}
    whole = judged[FULL][0]
    record = {
        "task": TASK,
        **identity(Run(name, f"default, {settings.busy} busy" if settings.busy else "default", settings.seed), device),
        "status": "ok",
        "n_train": len(train),
        "n_test": len(test),
        "fit_seconds": round(fit_seconds, 2),
        "peak_memory_mb": peak_memory(),
        "settings": {key: value for key, value in asdict(settings).items() if value is not None},
        "training": _training(detector, train),
        "efforts": {effort: _judged(one, seconds, whole, y) for effort, (one, seconds) in judged.items()},
    }
    RecordFile(out).add(record)
    return record


def _training(detector: TokenDetector, train: list[Any]) -> dict[str, float]:
    """What training took, counted, and how fast products are here."""
    learned = split_rows(len(train), detector.seed, tunes=True).train
    work = TrainingWork.of(detector.reconstructor_, detector.encoder_.encode([train[place] for place in learned]))
    rate = {"operations_per_second": product_rate()} if detector.torch_device().type == "cpu" else {}
    return asdict(work) | rate


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    """So many processes that compute without end, until this does."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _judge(detector: TokenDetector, effort: str, rows: list[Any]) -> Verdicts:
    return detector.with_effort(effort).judge(rows)


def _judged(verdicts: Verdicts, seconds: float, whole: Verdicts, y: Any) -> dict[str, float]:
    """Speed and quality of one effort, beside the whole grid."""
    looks = verdicts.looks
    alarms, wanted = verdicts.is_anomaly, whole.is_anomaly
    return {
        "seconds": round(seconds, 3),
        "rows_per_second": round(len(y) / seconds, 1),
        "whole_grid": 1.0 if looks is None else float((looks > 1).mean()),
        "alarms": int(alarms.sum()),
        "agreement": float((alarms == wanted).mean()),
        **metrics(y, _filled(verdicts.anomaly_score)),
    }


def _filled(scores: FloatArray) -> FloatArray:
    return np.where(np.isnan(scores), np.nanmin(scores), scores)  # no token, no evidence: the calmest


def _timed(call: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start
