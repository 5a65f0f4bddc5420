"""`maskdiff report`: rows in, one HTML page out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from maskdiff.jobs import ModelRows
    from maskdiff.progress import Callback


def report(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    out: Annotated[str, typer.Option("--out", "-o", metavar="HTML", help="The page to write.")],
    false_alarm_rate: options.FalseAlarmRate = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = '"',
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write one page that shows which rows are odd, and which cells or tokens make them so."""
    from maskdiff.io import open_rows
    from maskdiff.jobs import rows_for
    from maskdiff.report import write_report
    from maskdiff.storage import load

    voice: Output = ctx.obj
    options.check_file(out)
    detector = load(model)
    detector.progress = False
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines)
    with open_rows(rows, reading) as file, voice.progress() as progress:
        write_report(
            detector,
            _tables(rows_for(file, detector), progress or None),
            out,
            false_alarm_rate=false_alarm_rate,
            source=Path(file.name).name,
            model=Path(model).name,
            row_numbers=1,
        )
    voice.skipped(file.skipped)
    size = Path(out).stat().st_size
    voice.facts(command="report", report=out, bytes=size, skipped_lines=file.skipped.lines)
    voice.say(f"wrote {printable(out)} ({size / 1000:,.0f} kB)")


def _tables(needed: ModelRows, callback: Callback | None) -> Iterator[pa.Table]:
    """All rows as they stand in the file; a file without rows is one empty table."""
    from maskdiff.progress import Progress

    done = 0
    for batch in needed.batches():
        yield needed.shown(batch)
        done += batch.num_rows
        if callback is not None:
            callback(Progress("scoring", done, needed.rows.n_rows or 0))
    if not done:
        yield needed.shown(needed.empty())
