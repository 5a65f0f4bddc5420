"""`maskdiff suggest`: rows in, a copy with the likeliest values in place of odd cells out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.odd_cells import cell_facts, cell_sentence, note_few_cells
from maskdiff.cli.output import Output, counted, place, printable

if TYPE_CHECKING:
    from maskdiff.jobs import SuggestSummary


def suggest(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The corrected copy; - writes a pipe.")],
    changes: Annotated[
        str | None, typer.Option(metavar="FILE", help="List all odd cells: value, suggestion, probability, changed.")
    ] = None,
    false_discovery_rate: Annotated[
        float, typer.Option(help="Share of the cells that are called odd that may be fine.")
    ] = 0.1,
    at_least: Annotated[float, typer.Option(metavar="P", help="The least probability of a value to be taken.")] = 0.5,
    safe_for_spreadsheets: Annotated[
        bool, typer.Option("--safe-for-spreadsheets", help="Defuse cells that a spreadsheet would run as formulas.")
    ] = False,
    out_format: Annotated[str | None, typer.Option(metavar="csv|parquet|jsonl|arrow|json", help="Of the copy.")] = None,
    threads: options.Threads = None,
    *,
    reading: groups.Reading,
) -> None:
    """Write a copy of a table in which odd cells hold the likeliest value; the file itself stays as it is."""
    from maskdiff.io import WriteOptions
    from maskdiff.jobs import suggest_file

    output: Output = ctx.obj
    output.will_write_rows(out, changes)
    began = time.monotonic()
    with output.progress() as progress:
        summary = suggest_file(
            model,
            rows,
            out,
            changes=changes,
            false_discovery_rate=false_discovery_rate,
            at_least=at_least,
            reading=reading,
            writing=WriteOptions(out_format, None, safe_for_spreadsheets),
            callback=progress or None,
        )
    _show(output, summary, out, changes, time.monotonic() - began)


def _show(output: Output, summary: SuggestSummary, out: str, changes: str | None, seconds: float) -> None:
    output.checks(summary.checks)
    output.skipped(summary.skipped)
    note_few_cells(output, summary.odd)
    output.facts(
        command="suggest",
        rows=summary.rows,
        **cell_facts(summary.odd),
        changed=summary.changed,
        at_least=summary.at_least,
        output=out,
        changes=changes,
        ignored_columns=summary.ignored,
        skipped_lines=summary.skipped.lines,
        checks=[check.to_record() for check in summary.checks],
        seconds=round(seconds, 3),
    )
    have = "has" if summary.changed == 1 else "have"
    likely = f"; {summary.changed:,} {have} a likely value" if summary.odd.cells else ""
    listed = "" if changes is None else f" and the list of odd cells to {printable(changes)}"
    output.say(
        f"{cell_sentence(summary.odd)}{likely}",
        f"wrote {counted(summary.rows, 'row')} to {place(out)}{listed} in {seconds:.1f} s",
    )
