"""`maskdiff explain`: one row as a small picture."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, percent, printable, table

if TYPE_CHECKING:
    import pyarrow as pa

    from maskdiff.detectors import Detector, Verdicts
    from maskdiff.io import RowFile

_BAR = 20
_LONGEST = 40
_LONGEST_TEXT = 3000
# How many are shown unless asked otherwise.
_SHOWN = {"columns": 20, "symbols": 8, "tokens": 8}


def explain(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    row: Annotated[int | None, typer.Option("--row", metavar="I", min=1, help="The I-th row; the first is 1.")] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="COLUMN=VALUE", help="The first row with that value there."),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Show the N cells (20) or tokens (8) that carry most.")
    ] = None,
    false_alarm_rate: options.FalseAlarmRate = None,
    format: options.Format = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = '"',
    encoding: options.Encoding = None,
    on_bad_lines: options.OnBadLines = "error",
    quiet: options.Quiet = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show one row: each cell or odd token, how much it surprises, and what was expected there."""
    from maskdiff.errors import SettingError
    from maskdiff.io import open_rows
    from maskdiff.jobs import rows_for
    from maskdiff.storage import load

    output: Output = ctx.obj
    if (row is None) == (where is None):
        raise SettingError("say which row: --row 17, or --where claim_id=17.")
    detector = load(model)
    with open_rows(rows, options.reading_of(format, delimiter, quote, encoding, on_bad_lines)) as file:
        needed = rows_for(file, detector)
        number, batch = _numbered(file, row) if row is not None else _where(file, str(where))
        read, shown = needed.read(batch, number), needed.shown(batch)
    with output.progress() as progress:
        detector.set_params(progress=progress)
        verdicts = detector.judge(read, false_alarm_rate)
        cells = detector.explain(shown, top or _SHOWN[detector.encoder_.parts], verdicts=verdicts)
    _tell(output, detector, shown, verdicts, cells, detector.threshold(false_alarm_rate), number, file.name)


def _tell(
    output: Output,
    detector: Detector,
    shown: Any,
    verdicts: Verdicts,
    cells: Any,
    threshold: float,
    row: int,
    name: str,
) -> None:
    from maskdiff.explanations.shading import excerpt

    score, p_value, alarm = (float(told[0]) for told in (verdicts.anomaly_score, verdicts.p_value, verdicts.is_anomaly))
    facts = {"anomaly_score": score, "p_value": p_value, "is_anomaly": bool(alarm), "threshold": threshold}
    output.facts(command="explain", row=row, **facts, cells=cells.drop(columns="row").to_dict("records"))
    if math.isnan(score):
        output.say(f"row {row:,} of {printable(name)}: not a single token, so nothing to judge it by (p-value 1)")
        return
    verdict = "an anomaly" if alarm else "not an anomaly"
    output.say(
        f"row {row:,} of {printable(name)}: {verdict}, score {score:.4g} "
        f"(threshold {threshold:.4g}, p-value {p_value:.3g})",
        "",
    )
    for pieces in detector.shaded(shown, verdicts=verdicts):
        output.say(output.shaded(excerpt(pieces, _LONGEST_TEXT)), "")
    what = "cells" if not detector.encoder_.places else detector.encoder_.parts
    output.say(_picture(cells, detector.encoder_.places, what))
    more = int((verdicts.contributions > 0).sum()) - len(cells)
    if more > 0:
        output.say(f"and {more:,} more {what}, with {percent(max(0.0, 1 - cells['share'].sum()))} of the score")


def _picture(cells: Any, places: tuple[str, ...], what: str) -> Any:
    """Each cell with its surprise as a bar; a token with where it stands."""
    block = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    longest = max([*cells["surprise"], 1e-9])
    lines = (
        (
            "-".join(str(getattr(cell, place)) for place in places) or cell.column,
            _short(cell.value),
            f"{cell.surprise:.2f}",
            block * max(1, round(_BAR * cell.surprise / longest)),
            f"{cell.share:.0%}",
            f"{_short(_expected(cell.expected))} ({cell.expected_probability:.0%})",
        )
        for cell in cells.itertuples(index=False)
    )
    heads = ("-".join(places) or "column", what[:-1] if places else "value", "nats", "surprise", "share", "expected")
    return table(heads, lines, right=("nats", "share"), whole=("nats", "surprise", "share"))


def _expected(label: str) -> str:
    from maskdiff.jobs.verdict_columns import expected_text

    return expected_text(label)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _numbered(file: RowFile, row: int) -> tuple[int, pa.RecordBatch]:
    from maskdiff.errors import InputError

    seen = 0
    for batch in file.batches():
        if row <= seen + batch.num_rows:
            return row, batch.slice(row - seen - 1, 1)
        seen += batch.num_rows
    raise InputError(f"{file.name} has no row {row:,}: there are {seen:,}.")


def _where(file: RowFile, where: str) -> tuple[int, pa.RecordBatch]:
    """The first row with that value, as a text or as a number."""
    from maskdiff.errors import InputError, SettingError
    from maskdiff.jobs.labels import is_value
    from maskdiff.jobs.table_rows import place_of

    name, equals, value = where.partition("=")
    if not equals:
        raise SettingError(f"--where needs a column and a value, such as claim_id=17; got {where!r}.")
    place, seen = place_of(file, name.strip()), 0
    for batch in file.batches():
        found = is_value(batch.column(place), value).nonzero()[0]
        if len(found):
            return seen + int(found[0]) + 1, batch.slice(int(found[0]), 1)
        seen += batch.num_rows
    raise InputError(f"{file.name} has no row with {name.strip()} = {value}.")
