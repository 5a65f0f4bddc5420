"""`maskdiff update`: more normal rows join a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable

if TYPE_CHECKING:
    from maskdiff.detectors.updating import UpdateSummary

_MOST_NAMED = 5


def update(
    ctx: typer.Context,
    model: options.Model,
    rows: Annotated[str, typer.Argument(metavar="MORE", help="More normal rows, with the columns of the model.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The model that learned on; may be MODEL.")],
    label: Annotated[
        str | None, typer.Option("--label", metavar="NAME", help="The column that says what a row is.")
    ] = None,
    normal: options.NormalValues = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = "auto",
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    header: options.Header = None,
    sheet: options.Sheet = None,
    query: options.Query = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Let a model of a table (fitted with --reconstructor kernel) learn on from more normal rows."""
    from maskdiff.jobs import update_file

    output: Output = ctx.obj
    options.check_file(out)
    output.outputs = [out]
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines, header, sheet, query)
    summary = update_file(model, rows, out, label=label, normal=normal or (), reading=reading, force=force)
    output.facts(command="update", **summary.to_record(), model=out)
    output.say(*_lines(summary), f"wrote {printable(out)}")


def _lines(summary: UpdateSummary) -> list[str]:
    n = summary.rows + summary.left_out
    was = f"{counted(summary.alarms, 'anomaly')} ({percent(summary.alarms / max(1, n))}) before"
    lines = [f"{counted(summary.rows, 'row')} learned, {was}"]
    if summary.left_out:
        lines.append(f"{counted(summary.left_out, 'row')} left out, with a cell that cannot be read in its column")
    for name, values in summary.new_values.items():
        more = ", ..." if len(values) > _MOST_NAMED else ""
        lines.append(f"new in {printable(name)}: {printable(', '.join(values[:_MOST_NAMED]))}{more}")
    if summary.widened:
        lines.append(f"wider range: {printable(', '.join(summary.widened))}")
    if summary.drifted:
        moved = ", ".join(f"{name} (in {share:.0%} of rows)" for name, share in summary.drifted.items())
        lines.append(f"changed: {printable(moved)}")
    return [*lines, f"threshold {summary.threshold:.4g}, before {summary.threshold_before:.4g}"]
