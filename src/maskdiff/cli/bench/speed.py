"""`maskdiff bench speed`: how fast each method is, and how its time grows with rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli.bench.options import KEPT, Device, Methods, Names, RecordFile, names
from maskdiff.cli.output import Output, counted, table

if TYPE_CHECKING:
    from maskdiff.bench.runs.measure import Record

SPEED = "results/more/speed.jsonl"


def speed(
    ctx: typer.Context,
    rows: Annotated[Names, typer.Option(metavar="NUMBERS", help="Rows of the tables, with commas between.")] = [  # noqa: B006
        "1000,10000,100000"
    ],
    columns: Annotated[Names, typer.Option(metavar="NUMBERS", help="Columns of the tables.")] = ["20"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    limit: Annotated[float, typer.Option(metavar="SECONDS", min=1.0, help="Stop a run after this time.")] = 300.0,
    start: Annotated[bool, typer.Option(help="Measure how long the command takes to start, too.")] = True,
    out: RecordFile = SPEED,
    device: Device = "cpu",
) -> int:
    """Fit and score made-up tables of several sizes: seconds, rows a second, one row alone, and the peak of memory."""
    from maskdiff.bench.runs.methods import chosen
    from maskdiff.bench.studies.speed.one_run import SPEED_METHODS
    from maskdiff.bench.studies.speed.start import measure_start
    from maskdiff.bench.studies.speed.study import measure_speed

    output: Output = ctx.obj
    output.if_interrupted = KEPT
    sizes = [(n, width) for width in _numbers(columns, "columns") for n in _numbers(rows, "rows")]
    wanted = chosen(names(methods) or [], SPEED_METHODS)
    records = measure_speed(wanted, sizes, out, limit=limit, device=device, say=lambda record: _note(output, record))
    started = measure_start(out, device) if start else []
    failed = [record for record in records if record["status"] != "ok"]
    output.facts(command="bench speed", out=out, runs=len(records) + len(started), failed=len(failed))
    output.say(table(["method", "rows", "columns", "fit", "score", "rows/s", "one row", "peak"], map(_line, records)))
    for record in started:
        measured = f"{record['seconds']:.2f} s" if "seconds" in record else f"{record['gflops']:.0f} GFLOP/s"
        output.say(f"{record['method']}: {measured}")
    output.note(f"{counted(len(records), 'run')} in {out}, {len(failed)} of them not finished")
    return 0


def _numbers(given: Names, setting: str) -> list[int]:
    from maskdiff.errors import SettingError

    try:
        found = [int(float(text)) for text in names(given) or []]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise SettingError(f"{setting} are whole numbers with commas between, such as 1000,1e5; got {','.join(given)}.")
    return found


def _note(output: Output, record: Record) -> None:
    if record["status"] != "ok":
        output.note(f"{record['method']}, {record['set']}: {record['error']}")


def _line(record: Record) -> Sequence[str]:
    if record["status"] != "ok":
        return (record["method"], record["set"].split(" x ")[0], record["set"].split(" x ")[1], *[""] * 5)
    return (
        *(record["method"], f"{record['rows']:,}", f"{record['columns']:,}"),
        *(f"{record['fit_seconds']:.2f} s", f"{record['score_seconds']:.2f} s", f"{record['rows_per_second']:,.0f}"),
        *(f"{record['one_row_ms']:.1f} ms", f"{record['peak_memory_mb']:,.0f} MB"),
    )
