"""`maskdiff bench`: measure methods on data sets, make tables of what was measured, draw the figures."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted

bench = typer.Typer(
    name="bench",
    help="Measure detectors on data sets, and repeat the tables and figures of the paper.",
    no_args_is_help=True,
)

Names = list[str]
Data = Annotated[
    str | None, typer.Option(metavar="DIR", envvar="MASKDIFF_DATA", help="The folder with the data sets' files.")
]
Sets = Annotated[Names, typer.Option(metavar="NAMES", help="Data sets by name, with commas between, or all.")]
Methods = Annotated[
    Names, typer.Option(metavar="NAMES", help="Methods by name, with commas between, or all, ours, baselines, extra.")
]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, ...")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at a time, each in a process of its own.")]

KEPT = "the runs that ended are kept; the same command goes on from there"


def _out(default: str) -> Any:
    return typer.Option("--out", "-o", metavar="FILE", help=f"The file of records, {default} unless given.")


@bench.command()
def tables(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 5,
    out: Annotated[str, _out("results/tables.jsonl")] = "results/tables.jsonl",
    device: Device = "auto",
    jobs: Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Measure methods on tables; a run that is in the file already is not repeated."""
    from maskdiff.bench.runs.tasks import Tables

    return _measure(
        ctx.obj, Tables(data), out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs
    )


@bench.command()
def text(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    embedder: Annotated[
        str | None,
        typer.Option(metavar="FOLDER|URL", help="For methods on embeddings: an embedder's folder, or a service's URL."),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model the service is asked for; for a folder, its name in the records.")
    ] = None,
    seeds: Seeds = 5,
    out: Annotated[str, _out("results/text.jsonl")] = "results/text.jsonl",
    device: Device = "auto",
    jobs: Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Measure methods on texts, those on embeddings where an embedder is given."""
    from maskdiff.bench.runs.embedders import as_embedder
    from maskdiff.bench.runs.tasks import Texts

    task = Texts(data, None if embedder is None else as_embedder(embedder, model=model, device=device))
    return _measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


@bench.command()
def runtime(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["bank", "claims"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    out: Annotated[str, _out("results/runtime.jsonl")] = "results/runtime.jsonl",
    device: Device = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> int:
    """Time methods on the same rows, one after the other."""
    from maskdiff.bench.runs.tasks import runtime as task

    return _measure(ctx.obj, task(data), out, sets=sets, methods=methods, seeds=range(1), device=device)


@bench.command()
def summary(
    ctx: typer.Context,
    files: Annotated[Names, typer.Argument(metavar="FILES", help="Files of records.")],
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write summary.md, CSV files and the picture.")
    ] = None,
    methods: Annotated[Names | None, typer.Option(metavar="NAMES", help="Only these methods.")] = None,
    sets: Annotated[Names | None, typer.Option(metavar="NAMES", help="Only these data sets.")] = None,
    picture: Annotated[str, typer.Option(metavar="svg|png|pdf|none", help="The critical-difference picture.")] = "svg",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Tables of what was measured: average ranks, means and deviations, beside the published values."""
    from maskdiff.bench.runs.records import read_all
    from maskdiff.bench.tables.summary import summary

    output: Output = ctx.obj
    found = summary(read_all(files, methods=_words(methods), sets=_words(sets)))
    written = [] if out is None else found.write(out, None if picture == "none" else picture)
    if not output.quiet and not output.json:  # as it is: a table in markdown must not be wrapped
        print(found.markdown, end="")
    output.facts(command="bench summary", files=[str(path) for path in written])
    if written:
        output.note(f"wrote {counted(len(written), 'file')} into {out}")


@bench.command()
def figure(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="synthetic|levels|theory", help="Which picture.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="PICTURE", help="The file to write: .png, .svg, .pdf.")],
    data: Data = None,
    sets: Annotated[Names | None, typer.Option(metavar="NAMES", help="levels: the tables to probe.")] = None,
    rows: Annotated[int | None, typer.Option(min=10, help="How many rows to measure on.")] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal pictures.")] = 0,
    device: Device = "auto",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Draw a figure of the paper from measurements made on the spot; they are written beside it, as CSV."""
    from maskdiff.bench.figures import make_figure

    output: Output = ctx.obj
    asked = {"data": data, "sets": _words(sets), "n_test": rows, "device": device, "seed": seed}
    with output.progress() as progress:
        written = make_figure(name, out, asked, progress=progress)
    output.facts(command="bench figure", files=[str(path) for path in written])
    output.say(f"wrote {' and '.join(map(str, written))}")


def _measure(output: Output, task: Any, out: str, *, sets: Names, methods: Names, **how: Any) -> int:
    """Measure, say how it went; 1 where a run failed."""
    from maskdiff.bench.runs.runner import run_bench

    output.if_interrupted = KEPT
    say = None if not output.quiet else lambda line: None
    records = run_bench(task, out, sets=_words(sets) or [], methods=_words(methods) or [], say=say, **how)
    failed = [record for record in records if record["status"] != "ok"]
    output.facts(command=f"bench {task.name}", out=out, runs=len(records), failed=len(failed))
    output.note(f"{counted(len(records), 'run')} in {out}, {len(failed)} of them failed")
    return int(bool(failed))


def _words(given: Names | None) -> Names | None:
    """Names handed over with commas between, or one at a time."""
    return None if given is None else [name for part in given for name in part.split(",") if name]
