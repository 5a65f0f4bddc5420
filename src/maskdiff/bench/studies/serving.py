"""The service under load: many clients in a process of their own, each asking for one row at a time.

Every answer is compared with what Python says about the row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from maskdiff.bench.runs.measure import Record, Run, identity
from maskdiff.bench.runs.records import RecordFile
from maskdiff.bench.studies.large_file import make_rows
from maskdiff.bench.studies.load_clients import Load, ask
from maskdiff.jobs import DetectorSettings, score_batch
from maskdiff.storage import save

TASK = "serve"
_MODEL = "rows"


@dataclass(frozen=True)
class LoadSettings:
    """How many clients ask, for how long, which model answers, and how many rows it learned from."""

    clients: int = 200
    seconds: float = 60.0
    method: str = "default"
    learned_rows: int = 2000
    different_rows: int = 500
    idle_requests: int = 200


def measure_serving(settings: LoadSettings, out: str | os.PathLike[str]) -> Record:
    """Serve a model, load the service, and add a record of throughput, latency and memory."""
    with tempfile.TemporaryDirectory() as folder:
        bodies, scores = _prepare(Path(folder), settings)
        process, port = start_service(folder)
        try:
            record = _measure(process.pid, port, bodies, scores, settings)
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait()
            assert process.stdout is not None
            process.stdout.close()
    record |= {"status": "ok" if not status and not record["errors"] and not record["wrong"] else "failed"}
    RecordFile(out).add(record)
    return record


def _prepare(folder: Path, settings: LoadSettings) -> tuple[list[bytes], list[float]]:
    """A model in the folder; single rows as JSON, and what Python says about them."""
    rng = np.random.default_rng(0)
    normal, new = make_rows(settings.learned_rows, rng), make_rows(settings.different_rows, rng)
    name = None if settings.method == "default" else settings.method
    detector = DetectorSettings(reconstructor=name, others={"progress": False}).build()
    detector.fit(pa.Table.from_batches([normal]))
    save(detector, folder / f"{_MODEL}.maskdiff")
    rows = [{column: _plain(value) for column, value in row.items()} for row in new.to_pylist()]
    scores = score_batch(detector, new).column("anomaly_score").to_pylist()
    return [json.dumps({"rows": [row]}).encode() for row in rows], scores


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def start_service(folder: str) -> tuple[subprocess.Popen[str], int]:
    """The real command in a process of its own, and its port."""
    command = [sys.executable, "-m", "maskdiff", "serve", folder, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    return process, int(line.rstrip("/\n").rpartition(":")[2])


def _measure(pid: int, port: int, bodies: list[bytes], scores: list[float], settings: LoadSettings) -> Record:
    context, asked = multiprocessing.get_context("spawn"), (port, f"/models/{_MODEL}/score", bodies, scores)
    with context.Pool(1) as pool:
        alone: Load = pool.apply(ask, (*asked, 1, settings.idle_requests, None))
        before = memory_mb(pid)
        began = time.perf_counter()
        half: Load = pool.apply(ask, (*asked, settings.clients, None, settings.seconds / 2))
        middle = memory_mb(pid)
        rest: Load = pool.apply(ask, (*asked, settings.clients, None, settings.seconds / 2))
        seconds = time.perf_counter() - began
    times = np.array(half.milliseconds + rest.milliseconds)
    quiet = np.array(alone.milliseconds[len(alone.milliseconds) // 10 :])  # the first ones load what is needed
    run = Run(f"{settings.clients} clients", settings.method, 0)
    return {
        "task": TASK,
        **identity(run, "cpu"),
        "settings": asdict(settings),
        "requests": len(times),
        "seconds": round(seconds, 2),
        "requests_per_second": round(len(times) / settings.seconds, 1),
        "p50_ms": round(float(np.percentile(times, 50)), 2),
        "p99_ms": round(float(np.percentile(times, 99)), 2),
        "idle_p50_ms": round(float(np.percentile(quiet, 50)), 2),
        "idle_p99_ms": round(float(np.percentile(quiet, 99)), 2),
        "errors": alone.errors + half.errors + rest.errors,
        "wrong": alone.wrong + half.wrong + rest.wrong,
        "memory_mb": {"idle": before, "middle": middle, "end": memory_mb(pid)},
    }


def memory_mb(pid: int) -> float:
    """What a process holds in memory, in megabytes; 0 where the system does not say."""
    path = Path(f"/proc/{pid}/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return round(sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024, 1)
