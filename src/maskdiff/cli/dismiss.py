"""`maskdiff dismiss`: alarms that a person judged fine do not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.output import Output, counted, printable

if TYPE_CHECKING:
    from maskdiff.jobs import DismissedRow


def dismiss(
    ctx: typer.Context,
    model: options.Model,
    rows: Annotated[
        str | None, typer.Argument(metavar="ALARMS", help="Scored or plain rows, as in `maskdiff score`.")
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option("--row", metavar="I", min=1, help="The I-th row; the first is 1. May be repeated."),
    ] = None,
    where: options.Where = None,
    like: Annotated[
        bool, typer.Option("--like", help="And all of the same pattern: the same values or bins in its odd columns.")
    ] = False,
    undo: Annotated[
        int | None, typer.Option("--undo", metavar="NUMBER", min=1, help="Take the rule with this number back.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="The model with its rules; not given: MODEL.")
    ] = None,
    *,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Dismiss alarms judged fine, by a rule in the model; scores stay as they are. `inspect` lists the rules."""
    from maskdiff.detectors.dismissals import SAME_CELLS, SAME_PATTERN
    from maskdiff.errors import SettingError
    from maskdiff.jobs import dismiss_rows, undo_dismissal

    output: Output = ctx.obj
    written = model if out is None else out
    output.will_write(written)
    if (rows is None) == (undo is None):
        raise SettingError("name the rows to dismiss, ALARMS --row 17, or a rule to take back, --undo NUMBER.")
    if undo is not None:
        rule = undo_dismissal(model, undo, out=out, force=force)
        output.facts(command="dismiss", undone=rule.to_record(), model=written)
        output.say(f"rule {rule.number} is taken back: {printable(str(rule))}", f"wrote {printable(written)}")
        return
    assert rows is not None
    scope, condition = SAME_PATTERN if like else SAME_CELLS, options.condition(where)
    done = dismiss_rows(model, rows, row or None, where=condition, scope=scope, out=out, reading=reading, force=force)
    facts = [{"row": one.row, "was_alarm": one.was_alarm, "rule": one.rule.to_record()} for one in done]
    output.facts(command="dismiss", dismissed=facts, model=written)
    output.say(*map(_line, done), f"wrote {printable(written)}")
    below = [one.row for one in done if not one.was_alarm]
    if below:
        output.note(
            f"{counted(len(below), 'row')} scored below the threshold and was no alarm; the first is {below[0]}"
        )


def _line(done: DismissedRow) -> str:
    return f"row {done.row:,} is dismissed by rule {done.rule.number}, {printable(str(done.rule))}"
