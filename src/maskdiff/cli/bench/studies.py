"""`maskdiff bench`: the measurements beside the paper's, each with its own file of records."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import typer

from maskdiff.cli.bench.options import Data, Device, Jobs, Methods, Names, RecordFile, Seeds, Sets, measure
from maskdiff.cli.bench.speed import speed
from maskdiff.cli.bench.timings import large_file, scale, serve, text_runtime, text_speed

CONTAMINATION = "results/more/contamination.jsonl"
SMALL_TABLES = "results/more/small-tables.jsonl"
LEARNED_ROWS = "results/more/learned-rows.jsonl"
MORE_TABLES = "results/more/more-tables.jsonl"
LEVEL_CHOICE = "results/more/level-choice.jsonl"
AUTHORS = "results/more/authors.jsonl"
FREE_TEXT = "results/more/free-text.jsonl"
CELLS = "results/more/cells.jsonl"
EFFORTS = "results/more/efforts.jsonl"
FIND = "results/more/find.jsonl"


Keel = Annotated[
    str | None, typer.Option(metavar="DIR", help="The folder with files of the KEEL repository, NAME.dat.")
]
EitherSets = Annotated[Names, typer.Option(metavar="NAMES", help="Tables, all, keel, or keel/NAME.")]


def _study(task: str, out: str, text: str, *, seeds: int = 5, device: str = "auto") -> Callable[..., int]:
    """A command with the options of most studies; `task` is the class in `bench.studies` that it measures with."""

    def command(
        ctx: typer.Context,
        data: Data = None,
        sets: Sets = ["all"],  # noqa: B006
        methods: Methods = ["all"],  # noqa: B006
        seeds: Seeds = seeds,
        out: RecordFile = out,
        device: Device = device,
        jobs: Jobs = 1,
    ) -> int:
        module, name = task.split(".")
        made = getattr(import_module(f"maskdiff.bench.studies.{module}"), name)(data)
        return measure(ctx.obj, made, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)

    command.__doc__ = text
    return command


def more_tables(
    ctx: typer.Context,
    data: Annotated[str, typer.Option(metavar="DIR", help="The folder with files of the KEEL repository, NAME.dat.")],
    sets: Annotated[Names, typer.Option(metavar="NAMES", help="Tables, all, or a group of them.")] = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 2,
    out: RecordFile = MORE_TABLES,
    device: Device = "cpu",
    jobs: Jobs = 1,
) -> int:
    """Measure on tables that are not in the paper.

    All are 43, in the groups categories and numbers. The group held_out has 22 others, on which no choice was made.
    """
    from maskdiff.bench.studies.more_tables import MoreTables

    task = MoreTables(data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


def level_choice(
    ctx: typer.Context,
    data: Data = None,
    keel: Keel = None,
    sets: EitherSets = ["all"],  # noqa: B006
    seeds: Seeds = 1,
    out: RecordFile = LEVEL_CHOICE,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Choose probe levels from normal rows alone, and compare with the fixed grid of all."""
    from maskdiff.bench.studies.level_choice import LevelChoice, execute

    settings = {"seeds": range(seeds), "device": device, "jobs": jobs, "execute": execute}
    return measure(ctx.obj, LevelChoice(data, keel), out, sets=sets, methods=["all"], **settings)


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
    clean: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The CSV file of --sets without its errors: nothing is planted then."),
    ] = None,
    seeds: Seeds = 5,
    out: RecordFile = CELLS,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Plant wrong cells in normal rows, and measure whether row and cell are found and the true value suggested."""
    from maskdiff.bench.studies.cells import study

    task, runs = study.PlantedCells(data, part, clean), {"execute": study.execute_cells, "outcome": study.outcome}
    settings: dict[str, Any] = {"seeds": range(seeds), "device": device, "jobs": jobs, **runs}
    return measure(ctx.obj, task, out, sets=sets, methods=methods, **settings)


def find(
    ctx: typer.Context,
    data: Data = None,
    keel: Keel = None,
    sets: EitherSets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    part: Annotated[
        str,
        typer.Option(
            metavar="tables|rates|cost",
            help="Whole tables, false discoveries in generated claims, or time beside a plain fit and score.",
        ),
    ] = "tables",
    seeds: Seeds = 5,
    out: RecordFile = FIND,
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Find the odd rows of whole tables without labels, and how many of those reported are normal."""
    from maskdiff.bench.studies import find as study

    runs = {"execute": study.execute_find, "outcome": study.outcome}
    settings: dict[str, Any] = {"seeds": range(seeds), "device": device, "jobs": jobs, **runs}
    return measure(ctx.obj, study.OneFile(data, part, keel), out, sets=sets, methods=methods, **settings)


def efforts(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    seeds: Seeds = 3,
    out: RecordFile = EFFORTS,
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
    out: RecordFile = AUTHORS,
    device: Device = "auto",
) -> int:
    """Time the authors' published code on the same rows (network and kernel, the settings of their scripts)."""
    from maskdiff.bench.studies.authors import AuthorsCode

    task = AuthorsCode(checkout, data)
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(1), device=device)


STUDIES: dict[str, Callable[..., int | None]] = {
    "contamination": _study(
        "contamination.Contamination",
        CONTAMINATION,
        "Put anomalies among the rows to learn from, up to 5% of them, and measure what that costs.",
    ),
    "small-tables": _study(
        "small_tables.SmallTables",
        SMALL_TABLES,
        "Learn from 300 and 900 rows, and measure alarm rates calibrated by all of them or by rows kept back.",
        device="cpu",
    ),
    "free-text": _study(
        "free_text.FreeText",
        FREE_TEXT,
        "Measure tables with a column of free text, read as text or left out.",
        seeds=3,
        device="cpu",
    ),
    "more-tables": more_tables,
    "level-choice": level_choice,
    "cells": cells,
    "find": find,
    "efforts": efforts,
    "authors": authors,
    "text-speed": text_speed,
    "text-runtime": text_runtime,
    "large-file": large_file,
    "scale": scale,
    "serve": serve,
    "learned-rows": _study(
        "learned_rows.LearnedRows",
        LEARNED_ROWS,
        "Learn from 1,000 rows to all rows of large tables, and measure what the further rows are worth.",
        seeds=2,
    ),
    "speed": speed,
}
