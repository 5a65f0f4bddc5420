"""`maskdiff bench`: commands that time one thing, each with its own file of records."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maskdiff.cli.bench.options import Data, Device, RecordFile
from maskdiff.cli.output import Output

TEXT_SPEED = "results/more/text-speed.jsonl"
TEXT_RUNTIME = "results/more/text-runtime.jsonl"
SCALE = "results/more/scale.jsonl"
LARGE_FILE = "results/more/large-file.jsonl"
SERVING = "results/more/serving.jsonl"


def text_speed(
    ctx: typer.Context,
    data: Data = None,
    name: Annotated[str, typer.Option("--set", help="sms, email or agnews.")] = "sms",
    epochs: Annotated[int, typer.Option(min=1, help="Timed epochs, after one to warm up.")] = 20,
    views: Annotated[int, typer.Option(min=1, help="Views per level.")] = 24,
    rows: Annotated[int | None, typer.Option(min=10, help="Only so many texts.")] = None,
    out: RecordFile = TEXT_SPEED,
    device: Device = "auto",
) -> None:
    """Time training and scoring of texts at the paper's size beside a plain implementation."""
    from maskdiff.bench.studies.text_speed import SpeedSettings, measure_text_speed

    output: Output = ctx.obj
    settings = SpeedSettings(name, epochs, views=views, rows=rows)
    record = measure_text_speed(settings, out, data=data, device=device)
    output.facts(command="bench text-speed", out=out)
    faster = record["plain_scoring"]["seconds"] / record["moved_scoring"]["seconds"]
    output.note(f"the same weights score {faster:.1f} times as fast as in the plain implementation; see {out}")


def text_runtime(
    ctx: typer.Context,
    data: Data = None,
    name: Annotated[str, typer.Option("--set", help="sms, email, agnews, agnews_long or hdfs.")] = "sms",
    rows: Annotated[int | None, typer.Option(min=60, help="Learn from only so many.")] = None,
    scored: Annotated[int | None, typer.Option(min=10, help="Score only so many.")] = None,
    busy: Annotated[int, typer.Option(min=0, help="So many other processes compute meanwhile.")] = 0,
    out: RecordFile = TEXT_RUNTIME,
    device: Device = "auto",
) -> None:
    """Time the default on texts, and how each effort agrees with the whole grid."""
    from maskdiff.bench.studies.text_runtime import RuntimeSettings, measure_text_runtime

    output: Output = ctx.obj
    record = measure_text_runtime(name, RuntimeSettings(rows, scored, busy), out, data=data, device=device)
    output.facts(command="bench text-runtime", out=out)
    each = ", ".join(f"{effort} {one['rows_per_second']:,.1f}" for effort, one in record["efforts"].items())
    output.note(f"{record['n_train']:,} rows learned in {record['fit_seconds']:.1f} s; rows scored a second: {each}")


def large_file(
    ctx: typer.Context,
    rows: Annotated[int, typer.Option(min=1, help="Rows to learn from.")] = 300_000,
    score_rows: Annotated[int | None, typer.Option(min=1, help="Score only the first so many.")] = None,
    search: Annotated[bool, typer.Option("--find", help="Find the odd rows of the file instead.")] = False,
    narrow: Annotated[bool, typer.Option("--narrow", help="Three columns instead of 20.")] = False,
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Where the files are made.")] = "large",
    fit_options: Annotated[
        list[str] | None, typer.Argument(metavar="[-- OPTIONS]", help="Options of maskdiff fit or find, after --.")
    ] = None,
    out: RecordFile = LARGE_FILE,
    device: Device = "auto",
) -> int:
    """Make a large file, learn from it and score it, or search it; records time and memory of the steps."""
    from maskdiff.bench.studies.large_file import measure_large_file

    output: Output = ctx.obj
    how: dict[str, Any] = {"score_rows": score_rows, "device": device, "search": search, "narrow": narrow}
    records = measure_large_file(rows, folder, out, fit_options=fit_options or (), **how)
    failed = [record for record in records if record["status"] != "ok"]
    output.facts(command="bench large-file", out=out, runs=len(records), failed=len(failed))
    for record in records:
        if record["status"] == "ok":
            output.note(
                f"{record['method']}: {record['rows']:,} rows in {record['seconds']:,.1f} s, "
                f"peak {record['peak_memory_mb']:,.0f} MB"
            )
    return int(bool(failed))


def serve(
    ctx: typer.Context,
    clients: Annotated[int, typer.Option(min=1, help="Clients that ask at the same time.")] = 200,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long they ask.")] = 60.0,
    method: Annotated[str, typer.Option(metavar="NAME", help="What answers: default, mlp or kernel.")] = "default",
    out: RecordFile = SERVING,
) -> int:
    """Serve a model on this machine, ask from a second process, compare every answer, and record time and memory."""
    from maskdiff.bench.studies.serving import LoadSettings, measure_serving

    output: Output = ctx.obj
    record = measure_serving(LoadSettings(clients, seconds, method), out)
    output.facts(command="bench serve", out=out, status=record["status"])
    output.note(
        f"{record['requests_per_second']:,.0f} answers a second to {clients:,} clients, half of them within "
        f"{record['p50_ms']:.0f} ms, 99% within {record['p99_ms']:.0f} ms; one client alone waits "
        f"{record['idle_p50_ms']:.1f} ms; {record['errors']} errors, {record['wrong']} wrong answers"
    )
    return int(record["status"] != "ok")


def scale(
    ctx: typer.Context,
    folder: Annotated[str, typer.Option(metavar="DIR", help="Where the files of rows are made; they stay there.")],
    rows: Annotated[int, typer.Option(metavar="N", min=1000, help="Rows to score.")] = 1_000_000,
    files: Annotated[int, typer.Option(metavar="N", min=1, help="Files they are in.")] = 8,
    workers: Annotated[str, typer.Option(metavar="NUMBERS", help="Numbers of workers, with commas between.")] = "1,2",
    learned: Annotated[int, typer.Option(metavar="N", min=100, help="Rows the model learns from.")] = 20_000,
    columns: Annotated[int, typer.Option(metavar="20|3", help="Columns of the rows.")] = 20,
    out: RecordFile = SCALE,
) -> int:
    """Score many rows plainly and on Ray with several numbers of workers: throughput, overhead, where time goes."""
    from maskdiff.bench.studies.scale import measure_scale

    output: Output = ctx.obj
    numbers = [int(number) for number in workers.split(",")]
    records = measure_scale(folder, out, rows=rows, files=files, workers=numbers, learned=learned, columns=columns)
    failed = [record for record in records if record["status"] != "ok"]
    output.facts(command="bench scale", out=out, runs=len(records), failed=len(failed))
    for record in records:
        if "microseconds_per_row" in record:
            output.note(f"{record['method']}: {record['microseconds_per_row']:.1f} microseconds of a core for each row")
    return int(bool(failed))
