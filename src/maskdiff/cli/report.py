"""`maskdiff report`: rows in, one HTML page out."""

from __future__ import annotations

from typing import Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.output import Output, printable


def report(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    out: Annotated[str, typer.Option("--out", "-o", metavar="HTML", help="The page to write.")],
    false_alarm_rate: options.FalseAlarmRate = None,
    threads: options.Threads = None,
    *,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Write one page that shows which rows are odd, and which cells or tokens make them so."""
    from maskdiff.jobs import report_file

    output: Output = ctx.obj
    output.will_write(out)
    with output.progress() as progress:
        done = report_file(
            model,
            rows,
            out,
            false_alarm_rate=false_alarm_rate,
            reading=reading,
            callback=progress or None,
            force=force,
        )
    output.skipped(done.skipped)
    output.checks(done.checks)
    checks = [check.to_record() for check in done.checks]
    output.facts(command="report", report=out, bytes=done.size, skipped_lines=done.skipped.lines, checks=checks)
    output.say(f"wrote {printable(out)} ({done.size / 1000:,.0f} kB)")
