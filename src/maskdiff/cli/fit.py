"""`maskdiff fit`: normal rows in, a model out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.output import Output, counted, or_one_cell, percent, printable, table
from maskdiff.cli.resuming import saying_how_to_resume

if TYPE_CHECKING:
    from rich.table import Table

    from maskdiff.jobs import FitSummary, Labels

# Of a table with more columns, `fit` lists the first of them and those left out.
_COLUMNS_SHOWN = 60
# What a column of tokens is read as.
_READ_AS = {"tokens": "text", "symbols": "sequence"}


def fit(
    ctx: typer.Context,
    rows: Annotated[str, typer.Argument(metavar="NORMAL", help="Normal rows in a file; - reads a pipe.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.")],
    preset: Annotated[str | None, typer.Option(metavar="paper", help="The settings of the paper.")] = None,
    objective: Annotated[
        str | None, typer.Option(metavar="reconstruction|diffusion", help="The training loss: Eq. 8 or Eq. 2.")
    ] = None,
    label: Annotated[str | None, options.named("Learn only from rows that this column calls normal.")] = None,
    normal: options.NormalValues = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    aggregate: Annotated[
        str | None, typer.Option(metavar="mean|rms|max|log_mean_exp", help="How cells or tokens become one score.")
    ] = None,
    levels: Annotated[
        str | None, typer.Option(metavar="0.2,0.5,...", help="Shares of a row to hide, instead of the usual ones.")
    ] = None,
    views_per_level: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How often each level looks at a row; fewer is faster.")
    ] = None,
    contamination: Annotated[
        str | None, typer.Option(metavar="auto|SHARE", help="Of a table: how many of the rows may be anomalies.")
    ] = None,
    effort: options.Effort = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    checkpoint_seconds: options.CheckpointSeconds = 10.0,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Rows that a cluster trains on.", rich_help_panel="Cluster"),
    ] = None,
    threads: options.Threads = None,
    *,
    cluster: groups.Cluster,
    detector: groups.Detector,
    columns: groups.Columns,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Learn what is normal from a file of normal rows: a table, or a column of texts (--text) or lists (--sequence)."""
    from maskdiff.jobs import Checkpoint, fit_summary

    output: Output = ctx.obj
    began = time.monotonic()
    output.will_write(out)
    others = {"preset": preset, "aggregate": aggregate, "false_alarm_rate": false_alarm_rate}
    others |= {"objective": objective, "effort": options.effort_of(effort)}
    settings = replace(
        detector,
        contamination=options.share_of_odd_rows(contamination),
        levels=_levels(levels),
        views_per_level=views_per_level,
        others={**detector.others, **others},
    )
    checkpoint = Checkpoint(f"{out}.checkpoint", resume=resume, seconds=checkpoint_seconds)
    with output.progress() as progress, saying_how_to_resume(checkpoint, output):
        given: dict[str, Any] = {"detector": settings, "columns": columns, "labels": _labels(label, normal)}
        given |= {"reading": reading, "callback": progress or None, "force": force}
        if cluster is None:
            summary = fit_summary(rows, out, checkpoint=checkpoint, **given)
        else:
            from maskdiff.distributed import fit_files

            given |= {} if sample is None else {"sample": sample}
            summary = fit_files(
                rows, out, cluster=cluster, resume=resume, checkpoint_seconds=checkpoint_seconds, **given
            )
    output.skipped(summary.skipped)
    output.left_out(summary.empty)
    _show(output, summary, out, checkpoint.resumed_at, time.monotonic() - began)


def _size(out: str) -> str:
    """How large a model is, where it is a file on this machine."""
    return f" ({Path(out).stat().st_size / 1000:,.0f} kB)" if Path(out).is_file() else ""


def _labels(column: str | None, normal: list[str] | None) -> Labels | None:
    from maskdiff.errors import SettingError
    from maskdiff.jobs import Labels

    if column is None and normal:
        raise SettingError("--normal says what the label of normal rows is; say which column holds it with --label.")
    return Labels(column, normal or ()) if column is not None else None


def _levels(given: str | None) -> tuple[float, ...] | None:
    from maskdiff.errors import SettingError

    try:
        return None if given is None else tuple(float(level) for level in given.split(","))
    except ValueError:
        message = f"levels are numbers with commas between, such as 0.2,0.5,0.8; got {given!r}."
        raise SettingError(message) from None


def _show(output: Output, summary: FitSummary, out: str, resumed_at: int | None, seconds: float) -> None:
    detector = summary.detector
    rate = detector.calibration_.rate_or_default(detector.false_alarm_rate)
    columns, threshold, held_out = detector.encoder_.summary(), detector.threshold(), len(detector.calibration_)
    output.facts(
        command="fit",
        model=out,
        rows=summary.rows,
        odd_rows_left_out=summary.odd,
        columns=columns,
        false_alarm_rate=rate,
        threshold=threshold,
        cell_threshold=detector.cell_threshold(),
        calibration_rows=held_out,
        resumed_at=resumed_at,
        skipped_lines=summary.skipped.lines,
        seconds=round(seconds, 3),
    )
    begun = "" if resumed_at is None else f" (training went on at step {resumed_at:,})"
    odd = "" if summary.odd is None else f"; {counted(summary.odd, 'odd row')} left out"
    output.say(
        *_column_table(columns, out),
        "",
        f"learned from {counted(summary.rows, 'row')} of {printable(summary.source)} in {seconds:.1f} s{begun}{odd}",
        f"alarm above a score of {threshold:.4g}{or_one_cell(detector.cell_threshold())}: "
        f"at most {percent(rate)} of normal rows (calibrated on {counted(held_out, 'row')})",
        f"wrote {printable(out)}{_size(out)}",
    )


def _column_table(columns: list[dict[str, Any]], model: str) -> list[Table | str]:
    """How each column was read, with examples where one needs them; of very many, the first and those left out."""
    shown = [column for at, column in enumerate(columns) if at < _COLUMNS_SHOWN or column["left_out"]]
    heads, shows_examples = ["column", "read as", "codes", "missing"], any(map(_example, shown))
    lines = [(*_described(column), *([_example(column)] if shows_examples else [])) for column in shown]
    n_more = len(columns) - len(shown)
    more = f"and {counted(n_more, 'more column')}; all of them: maskdiff inspect {printable(model)}"
    return [table([*heads, "example"] if shows_examples else heads, lines), *([more] if n_more else [])]


def _described(column: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table: how a column was read, or why it was left out."""
    from maskdiff.encoders.table.column_types import COLUMN_TYPES

    missing = "" if not column["missing"] else percent(column["missing"])
    if column["left_out"]:
        return column["name"], f"left out: {column['left_out']}", "", missing
    name = column["type"]
    if name not in _READ_AS and COLUMN_TYPES[name].is_free_text:
        return column["name"], name, "", missing
    unit = name if name in _READ_AS else COLUMN_TYPES[name].unit
    single = f"{unit[:-3]}y" if unit.endswith("ies") else unit.removesuffix("s")
    return column["name"], _READ_AS.get(name, name), counted(column["codes"], single), missing


def _example(column: dict[str, Any]) -> str:
    """How a column's numbers are written, where not plainly, and the texts among them that are values of their own."""
    marks = ", ".join(column.get("marks") or ())
    parts = [column.get("example"), f"values of their own: {marks}" if marks else None]
    return "; ".join(part for part in parts if part)
