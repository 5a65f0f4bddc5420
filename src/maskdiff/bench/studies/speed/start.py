"""How long the package takes to import, the command to start and to score, and what a busy machine costs."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from maskdiff.bench.runs.measure import Record, Run, identity
from maskdiff.bench.runs.records import RecordFile
from maskdiff.bench.studies.speed.study import TASK
from maskdiff.bench.studies.speed.tables import make_table
from maskdiff.threads import available

START, MACHINE = "start", "machine"
# Everything is measured so often; the median counts.
_TIMES = 3
_COLUMNS = 17
_BUSY = "while True: pass"
_SCORE = """
import sys, time
import maskdiff
import pandas as pd
detector, rows = maskdiff.load(sys.argv[1]).with_effort("full"), pd.read_csv(sys.argv[2])
detector.progress = False
detector.judge(rows[:50])
began = time.perf_counter()
detector.judge(rows)
print(time.perf_counter() - began)
"""
_PRODUCT = """
import time
import torch
x, w = torch.randn(1024, 256), torch.randn(256, 256)
for n in (20, 200):
    began = time.perf_counter()
    for _ in range(n):
        x @ w
print(2 * 200 * 1024 * 256 * 256 / (time.perf_counter() - began) / 1e9)
"""


def measure_start(out: str | os.PathLike[str], device: str = "cpu", reconstructor: str | None = None) -> list[Record]:
    """Seconds to import, to start the command, to score 100 rows with it, and to score 400 rows beside a busy process.

    Also how many operations a second products of the network's size do. Records are added.
    """
    file, found = RecordFile(out), []
    for run, measured in _measurements(device, reconstructor):
        found.append({"task": TASK, **identity(run, device), "status": "ok", **measured})
        file.add(found[-1])
    return found


def _measurements(device: str, reconstructor: str | None) -> Iterator[tuple[Run, dict[str, float]]]:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.maskdiff")
        normal, hundred, more = (_written(folder, n) for n in (2000, 100, 400))
        chosen = [] if reconstructor is None else ["--reconstructor", reconstructor]
        _command("fit", normal, "-o", model, "--device", device, "--quiet", *chosen)
        scored = Path(folder, "scored.csv")
        calls: dict[str, Callable[[], object]] = {
            "import maskdiff": lambda: _printed("import maskdiff; print(0)"),
            "maskdiff --version": lambda: _command("--version"),
            "maskdiff score, 100 rows": lambda: _command("score", model, hundred, "-o", scored, "--quiet"),
        }
        for name, call in calls.items():
            yield Run(START, name, 0), {"seconds": _median(_timed(call))}
        yield Run(MACHINE, "400 rows", 0), {"seconds": _median(lambda: _printed(_SCORE, model, more))}
        with _busy():
            busy = {"seconds": _median(lambda: _printed(_SCORE, model, more))}
        yield Run(MACHINE, "400 rows beside a busy process", 0), busy
    for threads in sorted({1, available()}):
        rate = {"gflops": round(_printed(_PRODUCT, OMP_NUM_THREADS=str(threads)), 1)}
        yield Run(MACHINE, f"products, {threads} threads", 0), rate


def _written(folder: str, rows: int) -> Path:
    path = Path(folder, f"{rows}.csv")
    make_table(rows, _COLUMNS, seed=rows).to_csv(path, index=False)
    return path


@contextmanager
def _busy() -> Iterator[None]:
    """Half of the processors, one at least, are kept busy by other processes."""
    others = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(max(1, available() // 2))]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _median(measure: Callable[[], float]) -> float:
    return round(sorted(measure() for _ in range(_TIMES))[_TIMES // 2], 3)


def _timed(call: Callable[[], object]) -> Callable[[], float]:
    def seconds() -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    return seconds


def _printed(code: str, *arguments: object, **environment: str) -> float:
    """The number that a process of its own prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return float(done.stdout.split()[-1])


def _command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "maskdiff", *map(str, arguments)], check=True, capture_output=True)
