"""`maskdiff demo`: the whole walk on claims made up on the spot."""

from __future__ import annotations

from typing import Annotated

import typer

from maskdiff.cli import options


def demo(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(help="Where to write the files.")] = "maskdiff-demo",
    rows: Annotated[int, typer.Option(min=1000, help="How many claims to make up.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal claims.")] = 0,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Make up insurance claims, learn the normal ones, and show the oddest of the others."""
    from maskdiff.demo import run_demo

    output = ctx.obj
    with output.progress() as progress:
        found = run_demo(folder, rows=rows, seed=seed, say=output.say, progress=progress)
    output.facts(command="demo", **found)
