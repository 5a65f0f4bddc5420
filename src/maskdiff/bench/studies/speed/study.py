"""Every method on tables of several sizes, and how long the command takes to start; one record each."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np

from maskdiff.bench.runs.measure import Record, Run, failure, identity
from maskdiff.bench.runs.records import RecordFile, run_of

TASK = "speed"
ONE_RUN = "maskdiff.bench.studies.speed.one_run"


def measure_speed(
    methods: Sequence[str],
    sizes: Iterable[tuple[int, int]],
    out: str | os.PathLike[str],
    *,
    limit: float = 300.0,
    device: str = "cpu",
    say: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Fit and score each method on tables of these rows and columns, at most `limit` seconds each; records are added.

    A run whose record is there is not repeated. A method that was stopped at the limit is not tried on tables that are
    larger in both, and gets a record that says so.
    """
    file, records = RecordFile(out), []
    done = {run_of(record): record for record in file.records if record["status"] == "ok"}
    stopped: list[tuple[str, int, int]] = []
    for (rows, columns), method in product(sorted(sizes), methods):
        run = Run(f"{rows} x {columns}", method, 0)
        if run in done:
            records.append(done[run])
            continue
        if any(name == method and rows >= r and columns >= c for name, r, c in stopped):
            record = failure(run, device, f"a smaller table took more than {limit:g} s")
        else:
            record = run_limited(run, rows, columns, limit, device)
        if record["status"] != "ok":
            stopped.append((method, rows, columns))
        records.append({"task": TASK, **record, "settings": {"limit_seconds": limit}})
        file.add(records[-1])
        say(records[-1])
    return records


def run_limited(run: Run, rows: int, columns: int, limit: float, device: str) -> Record:
    """One run in a process of its own, stopped at the limit."""
    command = [sys.executable, "-m", ONE_RUN, run.method, str(rows), str(columns), device]
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit, check=False, text=True)
    except subprocess.TimeoutExpired:
        return failure(run, device, f"took more than {limit:g} s")
    if done.returncode:
        return failure(run, device, (done.stderr.strip().splitlines() or ["no message"])[-1])
    return {**identity(run, device), "status": "ok", **json.loads(done.stdout.splitlines()[-1])}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The power of the size by which the time grows: the slope of both logarithms; NaN of fewer than two sizes.

    >>> round(exponent([10, 100, 1000], [1.0, 100.0, 10000.0]), 3)
    2.0
    """
    if len(set(sizes)) < 2:
        return math.nan
    slope, _ = np.polyfit(np.log(sizes), np.log(np.maximum(seconds, 1e-9)), 1)
    return float(slope)
