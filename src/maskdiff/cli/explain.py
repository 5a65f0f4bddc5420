"""`maskdiff explain`: one row as a small picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.output import Output, percent, printable, table

if TYPE_CHECKING:
    from maskdiff.jobs import RowExplanation

_BAR = 20
_LONGEST = 40
_LONGEST_TEXT = 3000


def explain(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    row: Annotated[int | None, typer.Option("--row", metavar="I", min=1, help="The I-th row; the first is 1.")] = None,
    where: options.Where = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Show the N cells (20) or tokens (8) that carry most.")
    ] = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    threads: options.Threads = None,
    *,
    reading: groups.Reading,
) -> None:
    """Show one row: each cell or odd token, how much it surprises, and what was expected there."""
    from maskdiff.jobs import explain_rows

    output: Output = ctx.obj
    (found,) = explain_rows(
        model,
        rows,
        row,
        where=options.condition(where),
        top=top,
        false_alarm_rate=false_alarm_rate,
        reading=reading,
    )
    record = found.to_record()
    output.facts(command="explain", **record)
    if record["anomaly_score"] is None:
        output.say(f"{_row(found)}: not a single token, so nothing to judge it by (p-value 1)")
    else:
        _show(output, found, record)


def _row(found: RowExplanation) -> str:
    return f"row {found.row:,} of {printable(found.source)}"


def _show(output: Output, found: RowExplanation, record: dict[str, Any]) -> None:
    from maskdiff.explanations.shading import excerpt

    verdict = "an anomaly" if record["is_anomaly"] else "not an anomaly"
    if record["is_anomaly"] and found.by_cells_alone:
        verdict += f" because of {printable(' and '.join(found.alarm_cells))} alone"
    if record.get("oddity"):
        verdict += f", {record['oddity']}"
    if record.get("dismissed_by"):
        verdict = f"dismissed by rule {record['dismissed_by']}"
    output.say(
        f"{_row(found)}: {verdict}, score {record['anomaly_score']:.4g} "
        f"(threshold {found.threshold:.4g}, p-value {record['p_value']:.3g})",
        "",
    )
    if found.pieces:
        output.say(output.shaded(excerpt(found.pieces, _LONGEST_TEXT)), "")
    what = found.parts if found.places else "cells"
    output.say(_picture(found.cells, found.places, what))
    more = int((found.verdicts.contributions > 0).sum()) - len(found.cells)
    if more > 0:
        output.say(f"and {more:,} more {what}, with {percent(max(0.0, 1 - found.cells['share'].sum()))} of the score")


def _picture(cells: Any, places: tuple[str, ...], what: str) -> Any:
    """Each cell with its surprise as a bar; a token with where it stands."""
    block = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    longest = max([*cells["surprise"], 1e-9])
    more = [name for name in ("contradicts", "note") if any(cells[name])]
    lines = (
        (
            "-".join(str(getattr(cell, place)) for place in places) or cell.column,
            _short(cell.value),
            f"{cell.surprise:.2f}",
            block * max(1, round(_BAR * cell.surprise / longest)),
            f"{cell.share:.0%}",
            f"{_short(_expected(cell.expected))} ({cell.expected_probability:.0%})" if cell.expected else "",
            *(_short(getattr(cell, name)) for name in more),
        )
        for cell in cells.itertuples(index=False)
    )
    place, value = ("-".join(places), what[:-1]) if places else ("column", "value")
    heads = (place, value, "nats", "surprise", "share", "expected", *more)
    return table(heads, lines, right=("nats", "share"), whole=("nats", "surprise", "share"))


def _expected(label: str) -> str:
    from maskdiff.explanations.intervals import interval_text

    return interval_text(label)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
