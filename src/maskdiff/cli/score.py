"""`maskdiff score`: rows in, the same rows with verdicts and reasons out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.odd_cells import cell_facts, cell_sentence, note_few_cells
from maskdiff.cli.output import Output, counted, or_one_cell, percent, place, printable

if TYPE_CHECKING:
    from maskdiff.io import WriteOptions
    from maskdiff.jobs import ScoreSummary


def score(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Scored rows; - or nothing: a pipe.")] = "-",
    explain: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add the N cells or tokens that carry each score.")
    ] = 0,
    only_anomalies: Annotated[bool, typer.Option("--only-anomalies", help="Leave normal rows out.")] = False,
    top: Annotated[int | None, typer.Option(metavar="K", min=1, help="Only the K highest, highest first.")] = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    false_discovery_rate: Annotated[
        float | None, typer.Option(help="Instead: share of the rows called anomalies that may be normal.")
    ] = None,
    cells: Annotated[
        str | None,
        typer.Option("--cells", metavar="FILE", help="List the cells of a table that are odd alone."),
    ] = None,
    effort: options.Effort = None,
    prefix: options.Prefix = "",
    safe_for_spreadsheets: Annotated[
        bool, typer.Option("--safe-for-spreadsheets", help="Defuse cells that a spreadsheet would run as formulas.")
    ] = False,
    out_format: Annotated[
        str | None, typer.Option(metavar="csv|parquet|jsonl|arrow|json", help="Of the output.")
    ] = None,
    threads: options.Threads = None,
    *,
    cluster: groups.Cluster,
    reading: groups.Reading,
) -> None:
    """Add anomaly_score, p_value and is_anomaly to every row, and with --explain the cells or tokens to blame."""
    from maskdiff.io import WriteOptions
    from maskdiff.jobs import ScoreOptions, score_file

    output: Output = ctx.obj
    output.will_write_rows(out, cells)
    began = time.monotonic()
    rates = (false_alarm_rate, false_discovery_rate)
    choice = ScoreOptions(explain, only_anomalies, top, *rates, prefix, options.effort_of(effort))
    writing = WriteOptions(out_format, None, safe_for_spreadsheets)
    if cluster is not None:
        _check_folder(out, cells, writing)
    with output.progress() as progress:
        if cluster is None:
            summary = score_file(
                model, rows, out, choice, cells=cells, reading=reading, writing=writing, callback=progress or None
            )
        else:
            from maskdiff.distributed import score_files

            summary = score_files(model, rows, out, choice, cluster=cluster, reading=reading, callback=progress or None)
    _show(output, summary, out, cells, time.monotonic() - began)


def _check_folder(out: str, cells: str | None, writing: WriteOptions) -> None:
    """Refuse what a cluster cannot do: it writes Parquet files into a folder, and lists no cells."""
    from maskdiff.errors import SettingError

    if out == "-":
        raise SettingError("the results of a cluster are files in a folder; name one: -o FOLDER.")
    if cells is not None:
        raise SettingError("--cells judges the cells of all rows together, on one machine; leave --engine away.")
    if writing.format not in (None, "parquet") or writing.safe_for_spreadsheets:
        raise SettingError("a cluster writes Parquet; leave --out-format and --safe-for-spreadsheets away.")


def _show(output: Output, summary: ScoreSummary, out: str, cells: str | None, seconds: float) -> None:
    output.checks(summary.checks)
    output.skipped(summary.skipped)
    output.empty(summary.empty)
    if summary.odd_cells is not None:
        note_few_cells(output, summary.odd_cells)
    output.facts(
        command="score",
        rows=summary.rows,
        anomalies=summary.anomalies,
        written=summary.written,
        empty_rows=summary.empty,
        dismissed=summary.dismissed,
        output=out,
        **_promise_facts(summary),
        **({} if summary.odd_cells is None else {"cells": cells, **cell_facts(summary.odd_cells)}),
        **_file_facts(summary),
        ignored_columns=summary.ignored,
        skipped_lines=summary.skipped.lines,
        checks=[check.to_record() for check in summary.checks],
        seconds=round(seconds, 3),
    )
    for note in getattr(summary, "notes", []):
        output.note(note)
    share = percent(summary.anomalies / max(summary.rows, 1))
    output.say(
        f"{counted(summary.rows, 'row')}, {counted(summary.anomalies, 'anomaly')} ({share}){_by_chance(summary)}",
        _promise(summary),
        *([] if summary.odd_cells is None else [cell_sentence(summary.odd_cells)]),
        f"wrote {counted(summary.written, 'row')} to {place(out)}{_list(cells)} in {seconds:.1f} s",
    )


def _list(cells: str | None) -> str:
    return "" if cells is None else f" and the odd cells to {printable(cells)}"


def _file_facts(summary: ScoreSummary) -> dict[str, int]:
    """Of a job on a cluster."""
    return {name: getattr(summary, name) for name in ("files", "kept") if hasattr(summary, name)}


def _promise_facts(summary: ScoreSummary) -> dict[str, float | None]:
    if summary.false_discovery_rate is not None:
        return {"false_discovery_rate": summary.false_discovery_rate}
    return {
        "threshold": summary.threshold,
        "cell_threshold": summary.cell_threshold,
        "false_alarm_rate": summary.false_alarm_rate,
        "expected_false_alarms": summary.expected_false_alarms,
    }


def _by_chance(summary: ScoreSummary) -> str:
    """How many of the anomalies are no surprise, where a rate says so."""
    expected = summary.expected_false_alarms
    if expected is None or not summary.rows:
        return ""
    about = "hardly any" if expected < 0.5 else f"about {expected:,.0f}"
    return f"; {about} would come from normal rows alone"


def _promise(summary: ScoreSummary) -> str:
    if summary.false_discovery_rate is not None:
        return f"promised: on average at most {percent(summary.false_discovery_rate)} of these are normal"
    rate = percent(summary.false_alarm_rate or 0)
    cell = or_one_cell(summary.cell_threshold)
    return f"alarm above a score of {summary.threshold:.4g}{cell}; promised: at most {rate} of normal rows"
