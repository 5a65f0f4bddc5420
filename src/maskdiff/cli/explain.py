"""`maskdiff explain`: one row as a small picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.voice import Voice, percent, printable, table

if TYPE_CHECKING:
    import pyarrow as pa

    from maskdiff.files import RowFile

_BAR = 20
_LONGEST = 40


def explain(
    ctx: typer.Context,
    model: options.Model,
    rows: options.Rows,
    row: Annotated[int | None, typer.Option("--row", metavar="I", min=1, help="The I-th row; the first is 1.")] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="COLUMN=VALUE", help="The first row with that value there."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="Show the N cells that carry most.")] = 20,
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
    """Show one row: each cell, how much it surprises, and what was expected there."""
    from maskdiff.errors import SettingError
    from maskdiff.files import ModelRows, open_rows
    from maskdiff.storage import load

    voice: Voice = ctx.obj
    if (row is None) == (where is None):
        raise SettingError("say which row: --row 17, or --where claim_id=17.")
    detector = load(model)
    detector.progress = False
    with open_rows(rows, options.reading_of(format, delimiter, quote, encoding, on_bad_lines)) as file:
        needed = ModelRows(file, detector.encoder_)
        number, batch = _numbered(file, row) if row is not None else _where(file, str(where))
        verdicts = detector.judge(needed.read(batch), false_alarm_rate)
        cells = detector.explain(needed.shown(batch), len(detector.encoder_.schema_), verdicts=verdicts)
    threshold = detector.threshold(false_alarm_rate)
    score, p_value, alarm = (float(told[0]) for told in (verdicts.anomaly_score, verdicts.p_value, verdicts.is_anomaly))
    voice.facts(
        command="explain",
        row=number,
        anomaly_score=score,
        p_value=p_value,
        is_anomaly=bool(alarm),
        threshold=threshold,
        cells=cells.drop(columns="row").head(top).to_dict("records"),
    )
    verdict = "an anomaly" if alarm else "not an anomaly"
    voice.say(
        f"row {number:,} of {printable(file.name)}: {verdict}, score {score:.4g} "
        f"(threshold {threshold:.4g}, p-value {p_value:.3g})",
        "",
        _picture(cells.head(top)),
    )
    if len(cells) > top:
        voice.say(f"and {len(cells) - top:,} more cells, with {percent(cells['share'].iloc[top:].sum())} of the score")


def _picture(cells: Any) -> Any:
    """Each cell with its surprise as a bar."""
    block = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"
    longest = max([*cells["surprise"], 1e-9])
    lines = (
        (
            cell.column,
            _short(cell.value),
            f"{cell.surprise:.2f}",
            block * max(1, round(_BAR * cell.surprise / longest)),
            f"{cell.share:.0%}",
            f"{_short(_expected(cell.expected))} ({cell.expected_probability:.0%})",
        )
        for cell in cells.itertuples(index=False)
    )
    heads = ("column", "value", "nats", "surprise", "share", "expected")
    return table(heads, lines, right=("nats", "share"), whole=("nats", "surprise", "share"))


def _expected(label: str) -> str:
    from maskdiff.files.reasons import expected_words

    return expected_words(label)


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
    from maskdiff.files.labels import is_value
    from maskdiff.files.tables import place_of

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
