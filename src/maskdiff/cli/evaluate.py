"""`maskdiff evaluate`: how well a model separates labelled rows, and whether it keeps its promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.hints import check_with_hint
from maskdiff.cli.output import Output, counted, percent, printable

if TYPE_CHECKING:
    from maskdiff.jobs import Evaluation


def evaluate(
    ctx: typer.Context,
    model: options.Model,
    rows: Annotated[str, typer.Argument(metavar="LABELLED", help="Rows with a column of labels; - reads a pipe.")],
    label: options.LabelColumn,
    normal: options.NormalValues = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    plot: Annotated[str | None, typer.Option(metavar="PICTURE", help="Draw both curves: .png, .svg, .pdf.")] = None,
    threads: options.Threads = None,
    *,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Measure a model on labelled rows."""
    from maskdiff.checks import LEARNED_FROM
    from maskdiff.jobs import evaluate_file

    output: Output = ctx.obj
    output.outputs = [plot] if plot is not None else []
    with output.progress() as progress:
        found = evaluate_file(
            model,
            rows,
            label,
            normal or (),
            false_alarm_rate=false_alarm_rate,
            reading=reading,
            callback=progress or None,
            plot=plot,
            force=force,
        )
    output.skipped(found.skipped)
    output.checks([check for check in found.checks if check.name != LEARNED_FROM])
    output.facts(command="evaluate", **found.to_record(), plot=plot, skipped_lines=found.skipped.lines)
    # Figures from rows it learned from go nowhere without the sentence that says so.
    learned = [f"note: {check_with_hint(check)}" for check in found.checks if check.name == LEARNED_FROM]
    output.say(*learned, *_lines(found), *([f"wrote {printable(plot)}"] if plot else []))


def _lines(found: Evaluation) -> list[str]:
    precision = "no alarm" if found.precision is None else f"precision {percent(found.precision)}"
    lines = [
        f"{counted(found.rows, 'row')}, {counted(found.anomalies, 'anomaly')} "
        f"({percent(found.anomalies / found.rows)})",
        f"ROC-AUC            {found.roc_auc:.4f}",
        f"average precision  {found.average_precision:.4f}",
        f"at the threshold   {counted(found.alarms, 'alarm')}: {precision}, recall {percent(found.recall)}",
        f"false alarms       {percent(found.false_alarm_rate_seen)} of normal rows, "
        f"{percent(found.false_alarm_rate_promised)} promised",
    ]
    if found.empty_rows:
        rows, they = counted(found.empty_rows, "row"), "it counts" if found.empty_rows == 1 else "they count"
        lines.append(f"without a token    {rows}: {they} above, as the least odd and never an alarm")
    return lines
