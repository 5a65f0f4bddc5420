"""`maskdiff fit`: normal rows in, a model out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, counted, percent, printable, table

if TYPE_CHECKING:
    from maskdiff.detectors import Detector
    from maskdiff.jobs import NormalTableRows, NormalTokenRows
    from maskdiff.jobs.checkpoint import Checkpoint
    from maskdiff.jobs.labels import Labels

Names = list[str] | None
# What a column of tokens is read as.
_READ_AS = {"tokens": "text", "symbols": "sequence"}


def fit(
    ctx: typer.Context,
    rows: Annotated[str, typer.Argument(metavar="NORMAL", help="Normal rows in a file; - reads a pipe.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.")],
    text: Annotated[str | None, options.of_tokens("NAME", "Rows are texts: those of this column.")] = None,
    sequence: Annotated[str | None, options.of_tokens("NAME", "Rows are lists of symbols, in this column.")] = None,
    separator: Annotated[
        str | None, options.of_tokens("TEXT", 'Split a --sequence that is a string here: " "; "" into characters.')
    ] = None,
    tokenizer: Annotated[
        str | None, options.of_tokens("bpe|gpt2|FILE", "How a --text is cut into tokens; learned unless given.")
    ] = None,
    embedder: Annotated[
        str | None, options.of_tokens("FOLDER", "A text embedder that sees odd topics: all-MiniLM-L6-v2, ...")
    ] = None,
    reconstructor: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="combined, mlp or kernel for tables; transformer or a model's folder else."),
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="paper", help="The settings of the paper.")] = None,
    columns: Annotated[Names, options.named("Only these columns; with commas between, or one at a time.")] = None,
    drop: Annotated[Names, options.named("Not these columns.")] = None,
    categorical: Annotated[Names, options.named("Read these as categories.")] = None,
    numeric: Annotated[Names, options.named("Read these as numbers.")] = None,
    dates: Annotated[Names, options.named("Read these as dates.")] = None,
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
        float | None, typer.Option(metavar="SHARE", help="Of a table: how many of the rows may be anomalies.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal models.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    steps: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,
    checkpoint_seconds: Annotated[float, typer.Option(hidden=True)] = 10.0,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = '"',
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Learn what is normal from a file of normal rows: a table, or a column of texts (--text) or lists (--sequence)."""
    from maskdiff.cli.learning import Learning, Probing
    from maskdiff.io import open_rows
    from maskdiff.jobs.checkpoint import Checkpoint
    from maskdiff.storage import save

    output: Output = ctx.obj
    began = time.monotonic()
    options.check_file(out)
    _check_device(device)
    how = {"category": categorical, "number": numeric, "date": dates, "drop": drop, "only": columns}
    settings: dict[str, Any] = {"preset": preset, "aggregate": aggregate, "false_alarm_rate": false_alarm_rate}
    settings |= {"device": device, "seed": seed, "contamination": contamination, "embedder": embedder}
    probes = Probing(levels, views_per_level)
    asked = Learning(text, sequence, separator, tokenizer, reconstructor, how, steps, settings, probes)
    checkpoint = Checkpoint(f"{out}.checkpoint", resume=resume, seconds=checkpoint_seconds)
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines)
    with (
        open_rows(rows, reading, repeatable=True) as file,
        output.progress() as progress,
        _saying_how_to_resume(checkpoint, output),
    ):
        detector, found = asked.begin(file, _labels(label, normal), progress)
        detector.fit_batches(found.batches, found.n_rows, checkpoint=checkpoint)
        save(detector, out)
    checkpoint.done()
    output.skipped(file.skipped)
    output.left_out(found.empty(detector))
    _tell(output, detector, found, out, checkpoint.resumed_at, time.monotonic() - began)


@contextmanager
def _saying_how_to_resume(checkpoint: Checkpoint, output: Output) -> Iterator[None]:
    """Say how to go on if what runs in here is interrupted."""
    path = printable(str(checkpoint.path))
    if checkpoint.resume and not checkpoint.path.is_file():
        output.note(f"there is no checkpoint {path}; the training begins at the beginning")
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.kept or checkpoint.resumed_at is not None:
            output.note(f"the training so far is kept in {path}; the same command with --resume goes on from there")
        raise


def _labels(column: str | None, normal: Names) -> Labels | None:
    from maskdiff.errors import SettingError
    from maskdiff.jobs.labels import Labels

    if column is None and normal:
        raise SettingError("--normal says what the label of normal rows is; say which column holds it with --label.")
    return Labels(column, normal or ()) if column is not None else None


def _check_device(device: str) -> None:
    import torch

    from maskdiff.errors import SettingError

    try:
        there = device == "auto" or torch.empty(0, device=device) is not None
    except (RuntimeError, AssertionError):  # not a name of a device, or of one that is not there
        there = False
    if not there:
        raise SettingError(f"the device {device!r} is not there; use --device cpu, or auto to take the best one.")


def _tell(
    output: Output,
    detector: Detector,
    found: NormalTableRows | NormalTokenRows,
    out: str,
    resumed_at: int | None,
    seconds: float,
) -> None:
    rate = detector.calibration_.rate_or_default(detector.false_alarm_rate)
    summary, threshold, held_out = detector.encoder_.summary(), detector.threshold(), len(detector.calibration_)
    output.facts(
        command="fit",
        model=out,
        rows=found.n_rows,
        columns=summary,
        false_alarm_rate=rate,
        threshold=threshold,
        calibration_rows=held_out,
        resumed_at=resumed_at,
        skipped_lines=found.rows.skipped.lines,
        seconds=round(seconds, 3),
    )
    begun = "" if resumed_at is None else f" (training went on at step {resumed_at:,})"
    output.say(
        table(("column", "read as", "codes", "missing"), map(_described, summary)),
        "",
        f"learned from {counted(found.n_rows, 'row')} of {printable(found.rows.name)} in {seconds:.1f} s{begun}",
        f"threshold {threshold:.4g}: at most {percent(rate)} of normal rows score above it "
        f"(calibrated on {counted(held_out, 'row')})",
        f"wrote {printable(out)} ({Path(out).stat().st_size / 1000:,.0f} kB)",
    )


def _described(column: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table: how a column was read, or why it was left out."""
    from maskdiff.encoders.table.column_types import COLUMN_TYPES

    missing = "" if not column["missing"] else percent(column["missing"])
    if column["left_out"]:
        return column["name"], f"left out: {column['left_out']}", "", missing
    name = column["type"]
    unit = name if name in _READ_AS else COLUMN_TYPES[name].unit
    return column["name"], _READ_AS.get(name, name), f"{column['codes']:,} {unit}", missing
