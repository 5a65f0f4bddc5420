"""`maskdiff serve`: models over HTTP, and a page to look at odd rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from maskdiff.cli import options


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the models.")] = Path("."),
    host: Annotated[str, typer.Option(help="The address to listen on; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")] = 8000,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Requests have to carry the token in this file.")
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option(metavar="NAME=N", help="How much is accepted, such as rows=100000.")
    ] = None,
    log_values: Annotated[bool, typer.Option("--log-values", help="The log may name values of cells.")] = False,
    threads: options.Threads = None,
) -> None:
    """Serve the models of a folder over HTTP, and a page that finds and shows odd rows."""
    from maskdiff.service import Limits, ServiceSettings, read_token
    from maskdiff.service import serve as serve_until_stopped

    token = None if token_file is None else read_token(token_file)
    limits = Limits().changed(limit or [])
    serve_until_stopped(ServiceSettings(folder, host, port, token, limits, log_values))
