"""`maskdiff export`: a model as files that need no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, printable


def export(
    ctx: typer.Context,
    model: options.Model,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The folder to write, new or empty.")],
    force: options.Force = False,
) -> None:
    """Write a model as a folder that scores with numpy and onnxruntime alone, without torch."""
    from maskdiff.export import export_model
    from maskdiff.storage import load

    output: Output = ctx.obj
    output.will_write(out)
    written = export_model(load(model), out, force=force)
    size = sum(path.stat().st_size for folder in written for path in (folder, *folder.glob("*")) if path.is_file())
    output.facts(command="export", model=model, folder=out, files=[path.name for path in written], bytes=size)
    names = ", ".join(path.name for path in written)
    output.say(f"wrote {printable(str(Path(out)))} ({size / 1000:,.0f} kB): {names}")
