"""`maskdiff update`: more normal rows join a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.output import Output, counted, percent, printable
from maskdiff.cli.resuming import saying_how_to_resume

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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    checkpoint_seconds: options.CheckpointSeconds = 10.0,
    threads: options.Threads = None,
    *,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Let a model learn on from more normal rows: what became usual raises no alarm any more."""
    from maskdiff.jobs import Checkpoint, update_file

    output: Output = ctx.obj
    output.will_write(out)
    checkpoint = Checkpoint(f"{out}.checkpoint", resume=resume, seconds=checkpoint_seconds)
    with output.progress() as progress, saying_how_to_resume(checkpoint, output):
        summary = update_file(
            model,
            rows,
            out,
            label=label,
            normal=normal or (),
            reading=reading,
            checkpoint=checkpoint,
            callback=progress or None,
            force=force,
        )
    output.facts(command="update", **summary.to_record(), resumed_at=checkpoint.resumed_at, model=out)
    output.say(*update_lines(summary), f"wrote {printable(out)}")


def update_lines(summary: UpdateSummary) -> list[str]:
    """What an update changed, in words."""
    lines = [f"{counted(summary.rows, 'row')} learned; {percent(summary.alarms)} of them were anomalies before"]
    if summary.left_out:
        lines.append(f"{counted(summary.left_out, 'row')} left out, with a cell that cannot be read in its column")
    for name, values in summary.new_values.items():
        more = f" and {summary.n_new[name] - _MOST_NAMED:,} more" if summary.n_new[name] > _MOST_NAMED else ""
        lines.append(f"new in {printable(name)}: {printable(', '.join(values[:_MOST_NAMED]))}{more}")
    if summary.widened:
        lines.append(f"wider range: {printable(', '.join(summary.widened))}")
    if summary.drifted:
        moved = ", ".join(f"{name} (in {share:.0%} of rows)" for name, share in summary.drifted.items())
        lines.append(f"changed: {printable(moved)}")
    rate = f"at most {percent(summary.false_alarm_rate)} of normal rows"
    known = f"calibrated on {counted(summary.calibration_rows, 'row')}"
    return [*lines, f"threshold {summary.threshold:.4g}, before {summary.threshold_before:.4g} ({rate}, {known})"]
