"""How much memory and time a large file takes: makes one, learns from it, scores it, and says what was measured.

    python tools/large_file.py --rows 10_000_000 --folder large --score-rows 100_000
    python tools/large_file.py --rows 10_000_000 --folder large -- --reconstructor mlp --views-per-level 2

What stands behind -- goes to `maskdiff fit`. Each step is a process of its own, run with the real command, so that its
peak of memory is its own. A last step takes the scoring of a CSV copy of the first rows apart, to say which share of
the time is reading, encoding, method and writing. A file that an earlier run made is taken again.
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
CSV_ROWS = 20_000


def make_rows(n: int, rng: np.random.Generator) -> pa.RecordBatch:
    """20 columns: eleven of 4 to 40 categories, four of decimals, three of integers, a date and a truth value."""
    group = rng.integers(0, 20, n)
    columns: dict[str, pa.Array] = {}
    for at, size in enumerate((4, 5, 6, 8, 10, 12, 16, 20, 24, 30, 40)):
        words = pa.array([f"{chr(97 + at)}{code}" for code in range(size)])
        columns[f"category{at}"] = words.take(pa.array((group * (at + 3) + rng.geometric(0.5, n)) % size))
    for at in range(4):
        columns[f"decimal{at}"] = pa.array((group + rng.lognormal(0, 0.5, n) * (at + 1)).round(3))
    for at in range(3):
        columns[f"integer{at}"] = pa.array(rng.poisson(5 + 3 * group * at))
    days = pa.array((18_000 + 30 * group + rng.integers(0, 300, n)).astype(np.int32))
    columns["day"] = days.cast(pa.date32())
    columns["truth"] = pa.array(rng.random(n) < group / 20)
    return pa.RecordBatch.from_pydict(columns)


def make_file(path: Path, rows: int, seed: int = 0) -> None:
    if path.exists() and pq.read_metadata(path).num_rows == rows:
        return
    rng = np.random.default_rng(seed)
    schema = make_rows(1, np.random.default_rng(0)).schema
    with pq.ParquetWriter(path, schema) as writer:
        for at in range(0, rows, ROWS_AT_ONCE):
            writer.write_batch(make_rows(min(ROWS_AT_ONCE, rows - at), rng))


def copy_first(source: Path, target: Path, rows: int) -> None:
    """The first rows of a file, in the format that the other's name says."""
    from maskdiff.io import open_rows, open_writer

    with open_rows(str(source)) as file, open_writer(str(target), file.schema) as write:
        for batch in file.batches():
            write(batch.slice(0, rows))
            rows -= min(rows, batch.num_rows)
            if not rows:
                break


def run(rows: int, *arguments: object) -> None:
    """The command in a process of its own; says its seconds, of them busy ones, and the most megabytes it held."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "maskdiff", *map(str, arguments), "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"maskdiff {arguments[0]} failed")
    seconds, busy = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    print(
        f"{arguments[0]}: {rows:,} rows in {seconds:,.1f} s ({busy:,.1f} s of processor time, {rows / busy:,.0f} rows "
        f"in each), peak {peak:,.0f} MB",
        flush=True,
    )


def shares(model: Path, source: Path, out: Path) -> dict[str, float]:
    """Seconds of processor time spent on reading the file, on encoding its cells, on the method and on writing."""
    import maskdiff
    from maskdiff.detectors import Verdicts
    from maskdiff.io import open_rows, open_writer
    from maskdiff.jobs import ModelTableRows
    from maskdiff.jobs.verdict_columns import VerdictColumns

    detector = maskdiff.load(model)
    detector.progress = False
    spent = dict.fromkeys(("reading", "encoding", "method", "writing"), 0.0)
    with open_rows(str(source)) as rows:
        needed, added = ModelTableRows(rows, detector.encoder_), VerdictColumns(rows.schema, 0, "")
        with open_writer(str(out), added.schema) as write:
            batches, last = iter(rows.batches()), time.process_time()

            def note(what: str) -> None:
                nonlocal last
                now = time.process_time()
                spent[what] += now - last
                last = now

            while (batch := next(batches, None)) is not None:
                table = needed.read(batch)
                note("reading")
                codes = detector.encoder_.encode(table)
                note("encoding")
                found = detector.evidence_.weigh(codes)
                note("method")
                p_value, alarm = detector.calibration_.p_values(found.score), found.score > detector.threshold()
                verdicts = Verdicts(found.score, p_value, alarm, found.contributions, found.surprise, codes)
                write(added.behind(batch, verdicts, detector, needed))
                note("writing")
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--score-rows", type=int, help="score only the first so many")
    parser.add_argument("--folder", type=Path, default=Path("large"))
    parser.add_argument("fit_options", nargs="*", help="behind --: for `maskdiff fit`")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    table, model = given.folder / "rows.parquet", given.folder / "rows.maskdiff"
    make_file(table, given.rows)
    print(f"{given.rows:,} rows of 20 columns, {table.stat().st_size / 1e6:,.0f} MB of Parquet", flush=True)
    run(given.rows, "fit", table, "-o", model, *given.fit_options)
    some = min(given.score_rows or given.rows, given.rows)
    part = table if some == given.rows else given.folder / "part.parquet"
    if part != table:
        copy_first(table, part, some)
    run(some, "score", model, part, "-o", given.folder / "scored.parquet")
    few = min(some, CSV_ROWS)
    copy_first(table, given.folder / "rows.csv", few)
    spent = shares(model, given.folder / "rows.csv", given.folder / "scored.csv")
    total = sum(spent.values())
    print(f"score from CSV, {few:,} rows, {few / total:,.0f} rows in each second of processor time:")
    for what, seconds in spent.items():
        print(f"  {what:<9} {seconds:8.2f} s  {seconds / total:6.1%}")


if __name__ == "__main__":
    main()
