"""`maskdiff bench`: measure methods on data sets, make tables of what was measured, draw the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskdiff.cli.bench.options import Data, Device, Jobs, Methods, Names, RecordFile, Seeds, Sets, measure, names
from maskdiff.cli.bench.studies import STUDIES
from maskdiff.cli.output import Output, counted
from maskdiff.cli.registry import Commands
from maskdiff.errors import SettingError

bench = Commands(
    name="bench",
    help="Measure detectors on data sets, and repeat the tables and figures of the paper.",
    no_args_is_help=True,
)


@bench.command()
def tables(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["all"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    seeds: Seeds = 5,
    out: RecordFile = "results/tables.jsonl",
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Measure methods on tables; a run that is in the file already is not repeated."""
    from maskdiff.bench.runs.tasks import Tables

    return measure(ctx.obj, Tables(data), out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


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
        str | None, typer.Option(help="The service's model; for a folder, its name in the records.")
    ] = None,
    seeds: Seeds = 5,
    out: RecordFile = "results/text.jsonl",
    device: Device = "auto",
    jobs: Jobs = 1,
) -> int:
    """Measure methods on texts, those on embeddings where an embedder is given."""
    from maskdiff.bench.runs.embedders import as_embedder
    from maskdiff.bench.runs.tasks import Texts

    task = Texts(data, None if embedder is None else as_embedder(embedder, model=model, device=device))
    return measure(ctx.obj, task, out, sets=sets, methods=methods, seeds=range(seeds), device=device, jobs=jobs)


@bench.command()
def runtime(
    ctx: typer.Context,
    data: Data = None,
    sets: Sets = ["bank", "claims"],  # noqa: B006
    methods: Methods = ["all"],  # noqa: B006
    limit: Annotated[
        float | None, typer.Option(min=1, metavar="SECONDS", help="Stop a method on a data set after so long.")
    ] = None,
    out: RecordFile = "results/runtime.jsonl",
    device: Device = "auto",
) -> int:
    """Time methods on the same rows, one after the other."""
    from maskdiff.bench.runs.tasks import runtime as task

    return measure(ctx.obj, task(data), out, sets=sets, methods=methods, seeds=range(1), device=device, limit=limit)


@bench.command()
def summary(
    ctx: typer.Context,
    files: Annotated[Names | None, typer.Argument(metavar="FILES", help="Files of records.")] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write summary.md, CSV files and the picture.")
    ] = None,
    docs: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Write the results pages of the documentation instead.")
    ] = None,
    records: Annotated[
        str, typer.Option(metavar="FOLDER", help="For --docs: the folder with all files of records.")
    ] = "results",
    methods: Annotated[Names | None, typer.Option(metavar="NAMES", help="Only these methods.")] = None,
    sets: Annotated[Names | None, typer.Option(metavar="NAMES", help="Only these data sets.")] = None,
    picture: Annotated[str, typer.Option(metavar="svg|png|pdf|none", help="The critical-difference picture.")] = "svg",
) -> None:
    """Tables of what was measured: average ranks, means and deviations, beside the published values."""
    output: Output = ctx.obj
    if docs is None:
        written = _summarise(output, files, out, None if picture == "none" else picture, names(methods), names(sets))
    else:
        from maskdiff.bench.pages.write import write_pages

        written = write_pages(records, docs)
    output.facts(command="bench summary", files=[str(path) for path in written])
    if written:
        output.note(f"wrote {counted(len(written), 'file')} into {docs or out}")


def _summarise(
    output: Output, files: Names | None, out: str | None, picture: str | None, methods: Names | None, sets: Names | None
) -> list[Path]:
    from maskdiff.bench.runs.records import read_all
    from maskdiff.bench.tables.summary import summary

    if not files:
        raise SettingError("name files of records to summarise, or a folder for the results pages with --docs.")
    found = summary(read_all(files, methods=methods, sets=sets))
    written = [] if out is None else found.write(out, picture)
    if not output.quiet and not output.json:  # as it is: a table in markdown must not be wrapped
        print(found.markdown, end="")
    return written


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
) -> None:
    """Draw a figure of the paper from measurements made on the spot; they are written beside it, as CSV."""
    from maskdiff.bench.figures import make_figure

    output: Output = ctx.obj
    settings = {"data": data, "sets": names(sets), "n_test": rows, "device": device, "seed": seed}
    with output.progress() as progress:
        written = make_figure(name, out, settings, progress=progress)
    output.facts(command="bench figure", files=[str(path) for path in written])
    output.say(f"wrote {' and '.join(map(str, written))}")


for name, command in STUDIES.items():
    bench.command(name)(command)
