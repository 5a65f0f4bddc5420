"""How much memory and time a large file takes: makes one, then learns from it, scores or searches it with the commands.

Each step is a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from maskdiff.bench.runs.measure import Record, Run, failure, identity
from maskdiff.bench.runs.records import RecordFile
from maskdiff.io import open_rows, open_writer

if TYPE_CHECKING:  # not on Windows
    from resource import struct_rusage

TASK = "large file"
ROWS_AT_ONCE = 1 << 18
# The columns of a narrow file.
NARROW = ("category2", "category5", "decimal0")


def measure_large_file(
    rows: int,
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    score_rows: int | None = None,
    fit_options: Sequence[str] = (),
    device: str = "auto",
    search: bool = False,
    narrow: bool = False,
) -> list[Record]:
    """Fit on a file of so many rows and score the first `score_rows`, all unless given; a record for each is added.

    `search` finds the odd rows of the file instead. `fit_options` are passed to `maskdiff fit` or `find`. The file has
    20 columns, or three of them if it is `narrow`, and stays in `folder`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / ("narrow.parquet" if narrow else "rows.parquet")
    make_file(table, rows, columns=NARROW if narrow else None)
    options = ["--device", device, *fit_options]
    steps = (
        {"find": (rows, ["find", str(table), "-o", str(folder / "found.parquet"), *options])}
        if search
        else _fit_and_score(table, rows, min(score_rows or rows, rows), options)
    )
    file, records = RecordFile(out), []
    shape = {"file_mb": round(table.stat().st_size / 1e6, 1), "columns": len(pq.read_schema(table).names)}
    for step, (n, arguments) in steps.items():
        settings = {"fit_options": list(fit_options), **shape}
        # Runs of another width or with other options are runs of their own.
        name = " ".join([f"{n} rows of {shape['columns']} columns", *fit_options])
        record = timed_step(step, n, arguments, device)
        records.append({"task": TASK, **record, "set": name, "settings": settings})
        file.add(records[-1])
    return records


def _fit_and_score(table: Path, rows: int, scored: int, options: Sequence[str]) -> dict[str, tuple[int, list[str]]]:
    """How many rows each step reads, and its arguments."""
    model, part = table.parent / "rows.maskdiff", table
    if scored < rows:
        part = table.parent / "part.parquet"
        copy_first(table, part, scored)
    return {
        "fit": (rows, ["fit", str(table), "-o", str(model), *options]),
        "score": (scored, ["score", str(model), str(part), "-o", str(table.parent / "scored.parquet")]),
    }


def timed_step(step: str, rows: int, arguments: Sequence[str], device: str) -> Record:
    """Seconds, seconds of processor time, and the most megabytes the command held."""
    run = Run(f"{rows} rows", step, 0)
    began = time.perf_counter()
    status, usage = run_command([*arguments, "--quiet"])
    if status:
        return failure(run, device, f"maskdiff {step} ended with status {status}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        **identity(run, device),
        "status": "ok",
        "rows": rows,
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_memory_mb": round(usage.ru_maxrss * unit / 2**20, 1),
    }


def run_command(arguments: Sequence[str]) -> tuple[int, struct_rusage]:
    """The exit status of `maskdiff ARGUMENTS` in a process of its own, and what it used."""
    process = subprocess.Popen([sys.executable, "-m", "maskdiff", *arguments])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def make_rows(n: int, rng: np.random.Generator) -> pa.RecordBatch:
    """20 columns: eleven of 4 to 40 categories, four of decimals, three of integers, a date and a boolean."""
    group = rng.integers(0, 20, n)
    columns: dict[str, pa.Array] = {}
    for at, size in enumerate((4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40)):
        names = pa.array([f"{chr(97 + at)}{code}" for code in range(size)])
        columns[f"category{at}"] = names.take(pa.array((group * (at + 3) + rng.geometric(0.5, n)) % size))
    for at in range(4):
        columns[f"decimal{at}"] = pa.array((group + rng.lognormal(0, 0.5, n) * (at + 1)).round(3))
    for at in range(3):
        columns[f"integer{at}"] = pa.array(rng.poisson(5 + 3 * group * at))
    days = pa.array((18_000 + 30 * group + rng.integers(0, 300, n)).astype(np.int32))
    columns["day"] = days.cast(pa.date32())
    columns["truth"] = pa.array(rng.random(n) < group / 20)
    return pa.RecordBatch.from_pydict(columns)


def make_file(path: Path, rows: int, seed: int = 0, columns: Sequence[str] | None = None) -> None:
    """A Parquet file of so many rows, with these columns or all; one that an earlier call made is kept."""
    if path.exists() and pq.read_metadata(path).num_rows == rows:
        return
    rng = np.random.default_rng(seed)
    first = make_rows(1, np.random.default_rng(0))
    names = list(columns or first.schema.names)
    with pq.ParquetWriter(path, first.select(names).schema) as writer:
        for at in range(0, rows, ROWS_AT_ONCE):
            writer.write_batch(make_rows(min(ROWS_AT_ONCE, rows - at), rng).select(names))


def copy_first(source: Path, target: Path, rows: int) -> None:
    """The first rows of a file, in the format that the other's name says."""
    with open_rows(str(source)) as file, open_writer(str(target), file.schema) as write:
        for batch in file.batches():
            write(batch.slice(0, rows))
            rows -= min(rows, batch.num_rows)
            if not rows:
                break
