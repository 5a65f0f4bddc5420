"""`maskdiff score`: rows in, the same rows with verdicts and reasons out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable

if TYPE_CHECKING:
    from maskdiff.detectors import Detector
    from maskdiff.jobs import ScoreOptions, ScoreSummary


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
    prefix: Annotated[str, typer.Option(help="Before the names of the columns that are added.")] = "",
    safe_for_spreadsheets: Annotated[
        bool, typer.Option("--safe-for-spreadsheets", help="Defuse cells that a spreadsheet would run as formulas.")
    ] = False,
    out_format: Annotated[str | None, typer.Option(metavar="csv|parquet|jsonl|arrow", help="Of the output.")] = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = '"',
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Add anomaly_score, p_value and is_anomaly to every row, and with --explain the cells or tokens to blame."""
    from maskdiff.errors import SettingError
    from maskdiff.io import WriteOptions, check_folder
    from maskdiff.jobs import ScoreOptions, score_file
    from maskdiff.storage import load

    voice: Output = ctx.obj
    if voice.json and out == "-":
        raise SettingError("the rows and --json both want standard output. Name a file for the rows: -o FILE.")
    voice.to_stderr = out == "-"
    check_folder(out)
    began = time.monotonic()
    asked = ScoreOptions(explain, only_anomalies, top, false_alarm_rate, false_discovery_rate, prefix)
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines)
    writing = WriteOptions(out_format, None, safe_for_spreadsheets)
    detector = load(model)
    with voice.progress() as progress:
        tally = score_file(detector, rows, out, asked, reading=reading, writing=writing, callback=progress or None)
    if tally.ignored:
        voice.note(f"ignored, for the model has never seen them: {', '.join(tally.ignored)}")
    voice.skipped(tally.skipped)
    voice.empty(tally.empty)
    _tell(voice, detector, asked, tally, out, time.monotonic() - began)


def _tell(
    voice: Output, detector: Detector, asked: ScoreOptions, tally: ScoreSummary, out: str, seconds: float
) -> None:
    rate = detector.calibration_.rate_or_default(asked.false_alarm_rate or detector.false_alarm_rate)
    threshold = detector.threshold(asked.false_alarm_rate)
    promise = f"scores above {threshold:.4g}; promised: at most {percent(rate)} of normal rows"
    facts: dict[str, Any] = {"threshold": threshold, "false_alarm_rate": rate}
    if asked.false_discovery_rate is not None:
        promise = f"promised: on average at most {percent(asked.false_discovery_rate)} of these are normal"
        facts = {"false_discovery_rate": asked.false_discovery_rate}
    voice.facts(
        command="score",
        rows=tally.rows,
        anomalies=tally.anomalies,
        written=tally.written,
        empty_rows=tally.empty,
        output=out,
        **facts,
        ignored_columns=tally.ignored,
        skipped_lines=tally.skipped.lines,
        seconds=round(seconds, 3),
    )
    share = percent(tally.anomalies / max(tally.rows, 1))
    place = "standard output" if out == "-" else printable(out)
    voice.say(
        f"{counted(tally.rows, 'row')}, {counted(tally.anomalies, 'anomaly')} ({share}): {promise}",
        f"wrote {counted(tally.written, 'row')} to {place} in {seconds:.1f} s",
    )
