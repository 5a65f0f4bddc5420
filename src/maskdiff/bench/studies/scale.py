"""How scoring scales: a plain run and runs on Ray over the same files, and where the time of a row goes.

Each run is the real command in a process of its own. A core's time for a row is processor time, so that other work on
the machine does not count; what starting takes, a run on a few rows shows, and is subtracted from the plain run.
Workers count their own processor time, part by part, in the manifest; what they load on first use is left out as well.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from maskdiff.bench.runs.measure import Record, Run, identity
from maskdiff.bench.runs.records import RecordFile
from maskdiff.bench.studies.large_file import NARROW, copy_first, make_file, timed_step
from maskdiff.errors import SettingError
from maskdiff.io import open_rows, open_writer
from maskdiff.jobs import score_batch
from maskdiff.storage import load

TASK, PLAIN, STAGES = "scale", "plain", "stages"
# Number of columns -> their names, None: all. A row of a narrow table is cheap, so that the engine counts most.
COLUMNS: dict[int, tuple[str, ...] | None] = {20: None, len(NARROW): NARROW}
_FEW = 100


def measure_scale(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    rows: int,
    files: int,
    workers: Sequence[int],
    learned: int,
    columns: int = 20,
) -> list[Record]:
    """Score so many rows in so many files plainly, and on Ray with each number of workers.

    Records are added as runs end; a run whose record is there is not repeated.
    """
    if columns not in COLUMNS:
        raise SettingError(f"the tables of this study have {' or '.join(map(str, COLUMNS))} columns; got {columns}.")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    folder = Path(folder)
    inputs, model = make_inputs(folder, rows, files, learned, columns)
    few = folder / "few.parquet"
    copy_first(sorted(inputs.iterdir())[0], few, _FEW)
    runs: dict[str, Callable[[], Record]] = {PLAIN: lambda: plain_run(folder, inputs, model, rows, few)}
    runs |= {_ray_name(number): partial(ray_run, folder, inputs, model, rows, number) for number in workers}
    runs[STAGES] = lambda: stages_run(inputs, model, folder)
    file, records = RecordFile(out), []
    size = sum(path.stat().st_size for path in inputs.iterdir())
    of_run = {"columns": columns, "rows": rows, "files": files, "learned_rows": learned}
    of_all = {
        "task": TASK,
        "set": f"{rows} rows of {columns}",
        "settings": of_run | {"bytes_per_row": round(size / rows, 2)},
    }
    done = {
        record["method"]: record
        for record in file.records
        if record["status"] == "ok" and of_run.items() <= record["settings"].items()
    }
    for name, run in runs.items():
        records.append(done[name] if name in done else run() | of_all)
        if name not in done:
            file.add(records[-1])
    return records


def make_inputs(folder: Path, rows: int, files: int, learned: int, columns: int) -> tuple[Path, Path]:
    """The folder of the files to score, and the model."""
    inputs, model = folder / f"in-{columns}-{rows}-{files}", folder / f"rows-{columns}-{learned}.maskdiff"
    inputs.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        make_file(inputs / f"rows{number:04d}.parquet", rows // files, seed=number, columns=COLUMNS[columns])
    if not model.exists():
        normal = folder / f"normal-{columns}.parquet"
        make_file(normal, learned, seed=files, columns=COLUMNS[columns])
        timed_step("fit", learned, ["fit", str(normal), "-o", str(model)], "cpu")
    return inputs, model


def plain_run(folder: Path, inputs: Path, model: Path, rows: int, few: Path) -> Record:
    """The command without an engine, on one core."""
    out = folder / "plain.parquet"
    start = timed_step("score", _FEW, ["score", str(model), str(few), "-o", str(folder / "few-scored.parquet")], "cpu")
    record = timed_step(PLAIN, rows, ["score", str(model), str(inputs), "-o", str(out)], "cpu")
    if record["status"] == "ok":
        busy = record["processor_seconds"] - start["processor_seconds"]
        record |= {"workers": 1, "start_seconds": start["processor_seconds"], **_cost(rows, busy)}
        record["bytes_written_per_row"] = round(out.stat().st_size / rows, 2)
    return record


def ray_run(folder: Path, inputs: Path, model: Path, rows: int, workers: int) -> Record:
    """The command on Ray, with so many workers on this machine."""
    out = folder / f"ray-{workers}"
    shutil.rmtree(out, ignore_errors=True)
    flags = ["--engine", "ray", "--workers", str(workers)]
    record = timed_step("score", rows, ["score", str(model), str(inputs), "-o", str(out), *flags], "cpu")
    record["method"] = _ray_name(workers)
    if record["status"] == "ok":
        parts = json.loads((out / ".maskdiff" / "manifest.json").read_text())["finished"].values()
        busy, loading = busy_seconds(list(parts))
        scoring = sum(part["seconds"] for part in parts)
        record |= {"workers": workers, "driver_seconds": record["processor_seconds"], **_cost(rows, busy)}
        record |= {
            "loading_seconds": round(loading, 3),
            "start_seconds": round(record["seconds"] - scoring / workers, 2),
        }
    return record


def busy_seconds(parts: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Processor seconds for the rows of all parts, and those for what workers load on first use.

    As in the plain run, whose start is subtracted, the first part of each worker does not count: all rows are taken to
    cost what those of the other parts do.
    """
    later = [part for part in parts if not part["first_of_worker"]] or list(parts)
    cost = sum(part["processor_seconds"] for part in later) / sum(part["rows"] for part in later)
    busy = cost * sum(part["rows"] for part in parts)
    return busy, sum(part["processor_seconds"] for part in parts) - busy


def _ray_name(workers: int) -> str:
    return f"ray, {workers} worker{'s' * (workers > 1)}"


def _cost(rows: int, busy: float) -> dict[str, float]:
    return {
        "busy_seconds": round(busy, 3),
        "microseconds_per_row": round(1e6 * busy / rows, 3),
        "rows_per_core_second": round(rows / busy, 1),
    }


def stages_run(inputs: Path, model: Path, folder: Path) -> Record:
    """The shares of reading, encoding, the method and writing in the processor time of one file."""
    detector, path = load(model).with_effort("alarms"), sorted(inputs.iterdir())[0]
    with open_rows(str(path)) as file:
        batches = list(file.batches())
        names = [name for name in file.schema.names if name in detector.encoder_.feature_names_in_]
    tables = [batch.select(names) for batch in batches]
    detector.judge(tables[0].slice(0, _FEW))  # what is compiled on first use is not the row's cost
    read = _busy(lambda: _walk(path))
    encoded = _busy(lambda: [detector.encoder_.encode(table) for table in tables])
    judged = _busy(lambda: [detector.judge(table) for table in tables])
    scored = [score_batch(detector, batch) for batch in batches]
    written = _busy(lambda: _write(folder / "stages.parquet", scored))
    seconds = {"reading": read, "encoding": encoded, "method": max(0.0, judged - encoded), "writing": written}
    rows = sum(batch.num_rows for batch in batches)
    shares = {name: round(one / sum(seconds.values()), 4) for name, one in seconds.items()}
    return {**identity(Run(f"{rows} rows", STAGES, 0), "cpu"), "status": "ok", "rows": rows, "shares": shares}


def _walk(path: Path) -> int:
    with open_rows(str(path)) as file:
        return sum(batch.num_rows for batch in file.batches())


def _write(path: Path, batches: Sequence[Any]) -> None:
    with open_writer(str(path), batches[0].schema) as write:
        for batch in batches:
            write(batch)


def _busy(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def largest_runs(records: Sequence[Record]) -> dict[int, list[Record]]:
    """Number of columns -> the runs on the most rows."""
    found: dict[int, list[Record]] = {}
    for number in COLUMNS:
        alike = [record for record in records if record["settings"]["columns"] == number]
        most = max((record["settings"]["rows"] for record in alike), default=0)
        if alike:
            found[number] = [record for record in alike if record["settings"]["rows"] == most]
    return found


def efficiency(records: Sequence[Record]) -> Iterator[tuple[Record, float]]:
    """Each run on Ray, and its throughput of a core as a share of the plain run's."""
    plain = next(record for record in records if record["method"] == PLAIN)
    for record in records:
        if record["method"].startswith("ray"):
            yield record, plain["microseconds_per_row"] / record["microseconds_per_row"]
