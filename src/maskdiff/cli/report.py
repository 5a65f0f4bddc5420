"""`maskdiff report`: rows in, one HTML page out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import options
from maskdiff.cli.voice import Voice, printable

if TYPE_CHECKING:
    import pyarrow as pa

    from maskdiff.files import ModelRows


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
    """Write one page that shows which rows are odd, and which cells make them so."""
    from maskdiff.files import ModelRows, open_rows
    from maskdiff.report import write_report
    from maskdiff.storage import load

    voice: Voice = ctx.obj
    options.check_file(out)
    detector = load(model)
    detector.progress = False
    with open_rows(rows, options.reading_of(format, delimiter, quote, encoding, on_bad_lines)) as file:
        tables = _tables(ModelRows(file, detector.encoder_))
        write_report(
            detector,
            tables,
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


def _tables(needed: ModelRows) -> Iterator[pa.Table]:
    """All rows as they stand in the file; a file without rows is one empty table."""
    some = False
    for batch in needed.rows.batches():
        some = True
        yield needed.shown(batch)
    if not some:
        yield needed.shown(needed.empty())
