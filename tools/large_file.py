"""How much memory and time a large file takes: makes one, learns from it, scores it, and says what was measured.

    python tools/large_file.py --rows 10_000_000 --folder large

Each step is a process of its own, run with the real command, so that its peak of memory is its own. A last step takes
the scoring of a CSV copy of the first rows apart, to say which share of the time is reading, method and writing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_AT_ONCE = 1 << 18
CSV_ROWS = 200_000


def make_rows(n: int, rng: np.random.Generator) -> pa.RecordBatch:
    """20 columns: eight of categories, six of decimals, three of integers, a date, a truth value and a text."""
    group = rng.integers(0, 20, n)
    columns: dict[str, pa.Array] = {}
    for at, size in enumerate((4, 8, 12, 20, 40, 80, 160, 320)):
        words = pa.array([f"{chr(97 + at)}{code}" for code in range(size)])
        columns[f"category{at}"] = words.take(pa.array((group * (at + 3) + rng.geometric(0.5, n)) % size))
    for at in range(6):
        columns[f"decimal{at}"] = pa.array((group + rng.lognormal(0, 0.5, n) * (at + 1)).round(3))
    for at in range(3):
        columns[f"integer{at}"] = pa.array(rng.poisson(5 + 3 * group * at))
    days = pa.array((18_000 + 30 * group + rng.integers(0, 300, n)).astype(np.int32))
    columns["day"] = days.cast(pa.date32())
    columns["truth"] = pa.array(rng.random(n) < group / 20)
    columns["text"] = pa.array(np.char.add("item ", (rng.zipf(1.5, n) % 5000).astype(str)))
    return pa.RecordBatch.from_pydict(columns)


def make_file(path: Path, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema = make_rows(1, np.random.default_rng(0)).schema
    with pq.ParquetWriter(path, schema) as writer:
        for at in range(0, rows, ROWS_AT_ONCE):
            writer.write_batch(make_rows(min(ROWS_AT_ONCE, rows - at), rng))


def run(*arguments: object) -> tuple[float, float]:
    """The command in a process of its own: seconds, and the most megabytes it held."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "maskdiff", *map(str, arguments)])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"maskdiff {arguments[0]} failed")
    unit = 1 if sys.platform == "darwin" else 1024
    return time.perf_counter() - began, usage.ru_maxrss * unit / 2**20


def shares(model: Path, source: Path, out: Path) -> dict[str, float]:
    """Seconds spent on reading the file, on encoding its cells, on the method and on writing."""
    import maskdiff
    from maskdiff.files import ModelRows, open_rows, open_writer
    from maskdiff.files.reasons import Added
    from maskdiff.files.stages import Scored

    detector = maskdiff.load(model)
    detector.progress = False
    spent = dict.fromkeys(("reading", "encoding", "method", "writing"), 0.0)
    with open_rows(str(source)) as rows:
        needed, added = ModelRows(rows, detector.encoder_), Added(rows.schema, 0, "")
        with open_writer(str(out), added.schema) as write:
            batches, last = iter(rows.batches()), time.perf_counter()

            def note(what: str) -> None:
                nonlocal last
                now = time.perf_counter()
                spent[what] += now - last
                last = now

            while (batch := next(batches, None)) is not None:
                table = needed.read(batch)
                note("reading")
                codes = detector.encoder_.encode(table)
                note("encoding")
                score = detector.evidence_.weigh(codes).score
                note("method")
                scored = Scored(batch, score, detector.calibration_.p_values(score), score > detector.threshold())
                write(added.to(scored, detector, needed))
                note("writing")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--folder", type=Path, default=Path("large"))
    parser.add_argument("--reconstructor", default="combined")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    table, model = given.folder / "rows.parquet", given.folder / "rows.maskdiff"
    make_file(table, given.rows, seed=0)
    print(f"{given.rows:,} rows of 20 columns, {table.stat().st_size / 1e6:,.0f} MB of Parquet", flush=True)
    quiet = ("--quiet",)
    for name, command in {
        "fit": ("fit", table, "-o", model, "--reconstructor", given.reconstructor),
        "score": ("score", model, table, "-o", given.folder / "scored.parquet"),
    }.items():
        seconds, peak = run(*command, *quiet)
        print(f"{name}: {seconds:,.1f} s, {given.rows / seconds:,.0f} rows/s, peak {peak:,.0f} MB", flush=True)
    copy = given.folder / "rows.csv"
    from maskdiff.files import open_rows, open_writer

    with open_rows(str(table)) as rows, open_writer(str(copy), rows.schema) as write:
        left = CSV_ROWS
        for batch in rows.batches():
            write(batch.slice(0, left))
            left -= min(left, batch.num_rows)
    spent = shares(model, copy, given.folder / "scored.csv")
    total = sum(spent.values())
    print(f"score from CSV, {min(given.rows, CSV_ROWS):,} rows, {min(given.rows, CSV_ROWS) / total:,.0f} rows/s:")
    for what, seconds in spent.items():
        print(f"  {what:<9} {seconds:8.2f} s  {seconds / total:6.1%}")


if __name__ == "__main__":
    main()
