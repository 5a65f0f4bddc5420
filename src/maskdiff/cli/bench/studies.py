"""`maskdiff bench`: the measurements beside the paper's, each with its own file of records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from maskdiff.cli.bench.options import Data, Device, Jobs, Methods, Names, Seeds, Sets, measure, record_file
from maskdiff.cli.bench.speed import speed
from maskdiff.cli.output import Output

CONTAMINATION = "results/more/contamination.jsonl"
SMALL_TABLES = "results/more/small-tables.jsonl"
LEARNED_ROWS = "results/more/learned-rows.jsonl"
MORE_TABLES = "results/more/more-tables.jsonl"
AUTHORS = "results/more/authors.jsonl"
TEXT_SPEED = "results/more/text-speed.jsonl"
TEXT_RUNTIME = "results/more/text-runtime.jsonl"
FREE_TEXT = "results/more/free-text.jsonl"
CELLS = "results/more/cells.jsonl"
EFFORTS = "results/more/efforts.jsonl"
FIND = "results/more/find.jsonl"
LARGE_FILE = "results/more/large-file.jsonl"
SERVING = "results/more/serving.jsonl"


def contamination(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 5,
    out: Annotated[str, record_file(CONTAMINATION)] = CONTAMINATION,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Put anomalies among the rows to learn from, up to 5% of them, and measure what that costs."""
    from maskdiff.bench.studies.contamination import Contamination

    task = Contamination(data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


def small_tables(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 5,
    out: Annotated[str, record_file(SMALL_TABLES)] = SMALL_TABLES,
    device: Device = "cpu",
    jobs: Jobs = 1,
) -> int:
    """Learn from 300 and 900 rows, and measure alarm rates calibrated by all of them or by rows kept back."""
    from maskdiff.bench.studies.small_tables import SmallTables

    task = SmallTables(data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


def learned_rows(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    seeds: Seeds = 2,
    out: Annotated[str, record_file(LEARNED_ROWS)] = LEARNED_ROWS,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Learn from 1,000 rows to all rows of large tables, and measure what the further rows are worth."""
    from maskdiff.bench.studies.learned_rows import LearnedRows

    task = LearnedRows(data)
    return measure(ctx.obj, task, out, sets=sets, methods=["all"], seeds=range(seeds), device=device, jobs=jobs)


def free_text(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 3,
    out: Annotated[str, record_file(FREE_TEXT)] = FREE_TEXT,
    device: Device = "cpu",
    jobs: Jobs = 1,
) -> int:
    """Measure tables with a column of free text, read as text or left out."""
    from maskdiff.bench.studies.free_text import FreeText

    task = FreeText(data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


def more_tables(
    ctx: typer.Context,
    data: Annotated[str, typer.Option(metavar="DIR", help="The folder with files of the KEEL repository, NAME.dat.")],
    sets: Annotated[Names, typer.Option(metavar="NAMES", help="Tables, or all, categories, numbers.")] = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 2,
    out: Annotated[str, record_file(MORE_TABLES)] = MORE_TABLES,
    device: Device = "cpu",
    jobs: Jobs = 1,
) -> int:
    """Measure on 43 tables that are not in the paper."""
    from maskdiff.bench.studies.more_tables import MoreTables

    task = MoreTables(data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


def cells(
    ctx: typer.Context,
    data: Data = None,
    sets: Annotated[
        Names, typer.Option(metavar="NAMES", help="Data sets by name, paths of CSV files, or all; bank+2%: one file.")
    ] = ["all"],  # noqa: B006
    methods: Methods = ["ours", "baselines"],  # noqa: B006
    part: Annotated[
        str, typer.Option(metavar="unseen|file|all", help="Errors in unseen rows, in one file alone, or both.")
    ] = "all",
    seeds: Seeds = 5,
    out: Annotated[str, record_file(CELLS)] = CELLS,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Plant wrong cells in normal rows, and measure whether row and cell are found and the true value suggested."""
    from maskdiff.bench.studies.cells import study

    task, runs = study.PlantedCells(data, part), {"execute": study.execute_cells, "outcome": study.outcome}
    settings: dict[str, Any] = {"seeds": range(seeds), "device": device, "jobs": jobs, **runs}
    return measure(ctx.obj, task, out, sets=sets, methods=methods, **settings)


def find(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    part: Annotated[
        str,
        typer.Option(
            metavar="tables|rates|cost",
            help="Whole tables, false discoveries in generated claims, or time beside a plain fit and score.",
        ),
    ] = "tables",
    seeds: Seeds = 5,
    out: Annotated[str, record_file(FIND)] = FIND,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Find the odd rows of whole tables without labels, and how many of those reported are normal."""
    from maskdiff.bench.studies import find as study

    runs = {"execute": study.execute_find, "outcome": study.outcome}
    settings: dict[str, Any] = {"seeds": range(seeds), "device": device, "jobs": jobs, **runs}
    return measure(ctx.obj, study.OneFile(data, part), out, sets=sets, methods=methods, **settings)


def efforts(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    seeds: Seeds = 3,
    out: Annotated[str, record_file(EFFORTS)] = EFFORTS,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Judge tables with every effort, and measure how alarms and ranking differ from those of the whole grid."""
    from maskdiff.bench.studies.efforts import Efforts, agreement, execute_efforts

    settings: dict[str, Any] = {"seeds": range(seeds), "device": device, "jobs": jobs}
    how: dict[str, Any] = {"execute": execute_efforts, "outcome": agreement}
    return measure(ctx.obj, Efforts(data), out, sets=sets, methods=["default"], **settings, **how)


def authors(
    ctx: typer.Context,
    checkout: Annotated[str, typer.Argument(metavar="CHECKOUT", help="The folder with the authors' published code.")],
    data: Data = None,
    sets: Sets = ["bank"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    out: Annotated[str, record_file(AUTHORS)] = AUTHORS,
    device: Device = "auto",
) -> int:
    """Time the authors' published code on the same rows (network and kernel, the settings of their scripts)."""
    from maskdiff.bench.studies.authors import AuthorsCode

    task = AuthorsCode(checkout, data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(1), device=device)


def text_speed(
    ctx: typer.Context,
    data: Data = None,
    name: Annotated[str, typer.Option("--set", help="sms, email or agnews.")] = "sms",
    epochs: Annotated[int, typer.Option(min=1, help="Timed epochs, after one to warm up.")] = 20,
    views: Annotated[int, typer.Option(min=1, help="Views per level.")] = 24,
    rows: Annotated[int | None, typer.Option(min=10, help="Only so many texts.")] = None,
    out: Annotated[str, record_file(TEXT_SPEED)] = TEXT_SPEED,
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
    out: Annotated[str, record_file(TEXT_RUNTIME)] = TEXT_RUNTIME,
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
    out: Annotated[str, record_file(LARGE_FILE)] = LARGE_FILE,
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
    out: Annotated[str, record_file(SERVING)] = SERVING,
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


STUDIES: dict[str, Callable[..., int | None]] = {
    "contamination": contamination,
    "small-tables": small_tables,
    "free-text": free_text,
    "more-tables": more_tables,
    "cells": cells,
    "find": find,
    "efforts": efforts,
    "authors": authors,
    "text-speed": text_speed,
    "text-runtime": text_runtime,
    "large-file": large_file,
    "serve": serve,
    "learned-rows": learned_rows,
    "speed": speed,
}
