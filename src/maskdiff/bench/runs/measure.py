"""One run: fit on normal rows, score the others, and say how well and how fast.

Labels are used for the split and for the metrics. They reach no method but those that are few-shot by design.
"""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff import __version__
from maskdiff.bench.baselines.networks import torch_device
from maskdiff.bench.runs.details import details, scores_and_verdicts
from maskdiff.bench.runs.methods import Method
from maskdiff.errors import InputError

_LIBRARIES = ("torch", "numpy", "pandas", "scikit-learn", "pyod", "isotree", "transformers")

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One method on one data set with one seed."""

    set: str
    method: str
    seed: int


@dataclass(frozen=True, eq=False)
class Split:
    """What a run is given: normal rows to learn from, rows to score, and the labels of those, 1 = anomaly.

    `anomalies` are other rows, for the methods that learn from some.
    """

    normal: Any
    unlabelled: Any
    y: NDArray[np.int8]
    anomalies: Any = None


def measure(run: Run, split: Split, method: Method, *, device: str = "auto", warm_up: int = 0) -> Record:
    """What the run gave, as one flat record; before anything is timed, another is fitted on `warm_up` rows."""
    where = torch_device(device)
    if warm_up:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            few = split.normal[:warm_up]
            method.build(run.seed, device).fit(few).anomaly_score(few)
    detector = method.build(run.seed, device)
    _forget_peak(where)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labelled = {} if split.anomalies is None else {"anomalies": split.anomalies}
        _, fit_seconds = _timed(lambda: detector.fit(split.normal, **labelled), where)
        (scores, verdicts), score_seconds = _timed(lambda: scores_and_verdicts(detector, split.unlabelled), where)
    return {
        **identity(run, device),
        "status": "ok",
        **metrics(split.y, scores),
        "fit_seconds": round(fit_seconds, 4),
        "score_seconds": round(score_seconds, 4),
        "peak_memory_mb": peak_memory(),
        "peak_gpu_memory_mb": round(torch.cuda.max_memory_allocated() / 2**20, 1) if where.type == "cuda" else None,
        **details(detector, split.unlabelled, scores, verdicts, split.y),
        "n_train": len(split.normal),
        "n_test": len(split.unlabelled),
        "n_features": getattr(split.normal, "shape", (0, None))[1],
        "warnings": sorted({str(warning.message) for warning in caught}),
    }


def failure(run: Run, device: str, error: BaseException | str) -> Record:
    """The record of a run that gave no result."""
    reason = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return {**identity(run, device), "status": "failed", "error": reason}


def stopped_run(run: Run, device: str, limit: float | None) -> Record:
    """The record of a run that was stopped because it took longer than `limit` seconds."""
    return {**failure(run, device, f"stopped after {limit:g} s"), "stopped_after": limit}


def identity(run: Run, device: str) -> Record:
    """Which run it was, and what it ran on."""
    return {
        "set": run.set,
        "method": run.method,
        "seed": run.seed,
        "device": _device_name(torch_device(device)),
        "threads": torch.get_num_threads(),
        "versions": dict(_versions()),
    }


def metrics(y: ArrayLike, scores: ArrayLike) -> dict[str, float]:
    """ROC-AUC (ties count half) and average precision (ties fall together), both from 0 to 1.

    >>> metrics([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.9])
    {'roc_auc': 0.875, 'pr_auc': 0.8333333333333333}
    """
    if not np.isfinite(scores).all():
        raise InputError(f"every score must be a finite number; {np.sum(~np.isfinite(scores))} are not.")
    return {"roc_auc": float(roc_auc_score(y, scores)), "pr_auc": float(average_precision_score(y, scores))}


def _timed(call: Any, device: torch.device) -> tuple[Any, float]:
    start = time.perf_counter()
    result = call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - start


def _forget_peak(device: torch.device) -> None:
    """Start the high-water marks of memory again from here, where the system can."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    with suppress(OSError):  # without it, the mark is that of the whole process so far
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> float | None:
    """The most memory the process held, in MB, its libraries and the table included, if known."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20, 1)


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"cuda ({torch.cuda.get_device_name(device)})"
    return f"{device.type} ({platform.machine()}, {os.cpu_count()} cores)"


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = {"python": platform.python_version(), "maskdiff": __version__}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return tuple(found.items())
