"""`maskdiff fit`: normal rows in, a model out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.voice import Voice, counted, percent, printable, table

if TYPE_CHECKING:
    from maskdiff.detectors import TableDetector
    from maskdiff.files import NormalRows, RowFile
    from maskdiff.files.labels import Labels

Names = list[str] | None


def fit(
    ctx: typer.Context,
    rows: Annotated[str, typer.Argument(metavar="NORMAL", help="Normal rows in a file; - reads a pipe.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="MODEL", help="The model file to write.")],
    reconstructor: Annotated[
        str, typer.Option(metavar="combined|mlp|kernel", help="Several kinds of evidence, or one kind alone.")
    ] = "combined",
    preset: Annotated[str | None, typer.Option(metavar="paper", help="The settings of the paper.")] = None,
    columns: Annotated[Names, options.named("Only these columns; with commas between, or one at a time.")] = None,
    drop: Annotated[Names, options.named("Not these columns.")] = None,
    categorical: Annotated[Names, options.named("Read these as categories.")] = None,
    numeric: Annotated[Names, options.named("Read these as numbers.")] = None,
    dates: Annotated[Names, options.named("Read these as dates.")] = None,
    label: Annotated[str | None, options.named("Learn only from rows that this column calls normal.")] = None,
    normal: options.NormalValues = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    aggregate: Annotated[str, typer.Option(metavar="mean|rms|max", help="How cells become one score.")] = "mean",
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
    """Learn what is normal from a file of normal rows."""
    from maskdiff.detectors import TableDetector
    from maskdiff.files import NormalRows, open_rows
    from maskdiff.files.checkpoint import Checkpoint
    from maskdiff.storage import save

    voice: Voice = ctx.obj
    began = time.monotonic()
    options.check_file(out)
    _check_device(device)
    asked = {"category": categorical, "number": numeric, "date": dates, "drop": drop}
    settings: dict[str, Any] = {"preset": preset, "aggregate": aggregate, "false_alarm_rate": false_alarm_rate}
    checkpoint = Checkpoint(f"{out}.checkpoint", resume=resume, seconds=checkpoint_seconds)
    reading = options.reading_of(format, delimiter, quote, encoding, on_bad_lines)
    with open_rows(rows, reading, again=True) as file, voice.progress() as progress, checkpoint.told(voice.note):
        how = _how_to_read(file, columns, asked, label)
        found = NormalRows(file, how, _labels(label, normal), progress or None)
        settings |= {"columns": how or None, "device": device, "seed": seed, "progress": progress}
        detector = TableDetector(_reconstructor(reconstructor, preset, steps), **settings)
        detector.fit_batches(found.batches, found.n_rows, keeper=checkpoint)
        save(detector, out)
    checkpoint.done()
    voice.skipped(file.skipped)
    _tell(voice, detector, found, out, checkpoint.resumed_at, time.monotonic() - began)


def _labels(column: str | None, normal: Names) -> Labels | None:
    from maskdiff.errors import SettingError
    from maskdiff.files.labels import Labels

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


def _how_to_read(file: RowFile, keep: Names, asked: dict[str, Names], label: str | None) -> dict[str, str]:
    """Column -> how to read it, as in `TableDetector(columns=...)`."""
    from maskdiff.errors import SettingError

    how: dict[str, str] = {}
    for kind, given in asked.items():
        for name in _names(file, given):
            if how.setdefault(name, kind) != kind:
                raise SettingError(f"column {name!r} cannot be both {how[name]} and {kind}. Name it once.")
    kept = _names(file, keep) or file.schema.names
    others = [name for name in file.schema.names if name not in kept] + ([label] if label else [])
    clash = next((name for name in others if how.get(name, "drop") != "drop"), None)
    if clash is not None:
        raise SettingError(f"column {clash!r} is to be read as {how[clash]}, but is not one of those to learn from.")
    return how | dict.fromkeys(others, "drop")


def _names(file: RowFile, given: Names) -> list[str]:
    """Names of columns, one by one or with commas between; each has to be there."""
    from maskdiff.files.tables import check_present

    there = set(file.schema.names)
    found = [name for text in given or () for name in ([text] if text in there else text.split(","))]
    names = [name if name in there else name.strip() for name in found]
    check_present(file, names)
    return names


def _reconstructor(name: str, preset: str | None, steps: int | None) -> Any:
    """By its name, or with a number of training steps of its own."""
    if steps is None or name != "mlp":
        return name
    from maskdiff.reconstructors import MLPReconstructor
    from maskdiff.training import Steps

    made = MLPReconstructor.paper() if preset == "paper" else MLPReconstructor()
    return replace(made, training=replace(made.training, stop=Steps(steps)))


def _tell(
    voice: Voice, detector: TableDetector, found: NormalRows, out: str, resumed_at: int | None, seconds: float
) -> None:
    rate = detector.calibration_.rate_or_default(detector.false_alarm_rate)
    summary, threshold, held_out = detector.encoder_.summary(), detector.threshold(), len(detector.calibration_)
    voice.facts(
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
    voice.say(
        table(("column", "read as", "codes", "missing"), map(_described, summary)),
        "",
        f"learned from {counted(found.n_rows, 'row')} of {printable(found.rows.name)} in {seconds:.1f} s{begun}",
        f"threshold {threshold:.4g}: at most {percent(rate)} of normal rows score above it "
        f"(calibrated on {counted(held_out, 'row')})",
        f"wrote {printable(out)} ({Path(out).stat().st_size / 1000:,.0f} kB)",
    )


def _described(column: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table: how a column was read, or why it was left out."""
    missing = "" if not column["missing"] else percent(column["missing"])
    if column["left_out"]:
        return column["name"], f"left out: {column['left_out']}", "", missing
    codes = "bins" if column["kind"] in ("number", "date") else "categories"
    return column["name"], column["kind"], f"{column['codes']:,} {codes}", missing
