"""Options that several commands share, with the words of their help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskdiff.io import ReadOptions

_TOKENS, _COLUMNS, _READING, _SPEAKING = "Texts and sequences", "Columns", "ReadOptions files", "Speaking"


def named(words: str) -> Any:
    """An option that names columns."""
    return typer.Option(metavar="NAME", help=words, rich_help_panel=_COLUMNS)


def of_tokens(metavar: str, words: str) -> Any:
    """An option about rows that are texts or sequences."""
    return typer.Option(metavar=metavar, help=words, rich_help_panel=_TOKENS)


def _told(name: str) -> Callable[[typer.Context, bool], bool]:
    def tell(ctx: typer.Context, value: bool) -> bool:
        setattr(ctx.ensure_object(Output), name, value)
        return value

    return tell


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `maskdiff fit` wrote.")]
Rows = Annotated[str, typer.Argument(metavar="FILE", help="Rows: CSV, Parquet, JSON Lines or Arrow; - reads a pipe.")]

Format = Annotated[
    str | None,
    typer.Option("--format", metavar="csv|parquet|jsonl|arrow", help="Not as the name says.", rich_help_panel=_READING),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Of a CSV file; found out unless given.", rich_help_panel=_READING)
]
Quote = Annotated[str, typer.Option("--quote", help="What encloses cells of a CSV file.", rich_help_panel=_READING)]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of a text file: utf-8 unless given, or cp1252, ...", rich_help_panel=_READING),
]
OnBadLines = Annotated[
    str,
    typer.Option(
        "--on-bad-lines", metavar="error|skip", help="What to do with lines of another width.", rich_help_panel=_READING
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Errors only.", callback=_told("quiet"), rich_help_panel=_SPEAKING)
]
Json = Annotated[
    bool,
    typer.Option("--json", help="The result as JSON.", callback=_told("json"), rich_help_panel=_SPEAKING),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show where an error arose.", callback=_told("debug"), rich_help_panel=_SPEAKING),
]
FalseAlarmRate = Annotated[
    float | None,
    typer.Option("--false-alarm-rate", help="Share of normal rows that may be called anomalies; 0.01 unless given."),
]
LabelColumn = Annotated[str, typer.Option("--label", metavar="NAME", help="The column that says what a row is.")]
NormalValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE", help="The label of normal rows, 0 unless given; may be repeated.", rich_help_panel=_COLUMNS
    ),
]


def reading_of(
    format: str | None, delimiter: str | None, quote: str, encoding: str | None, on_bad_lines: str
) -> ReadOptions:
    """How to read a file, as the options say."""
    from maskdiff.io import ReadOptions

    return ReadOptions(format, _character(delimiter), quote, encoding, on_bad_lines)


def _character(delimiter: str | None) -> str | None:
    # A shell makes it hard to hand over a tab.
    return {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter)


def check_file(out: str) -> None:
    """Refuse, before any work is done, what cannot be written to; a model or a page is no stream."""
    from maskdiff.errors import SettingError
    from maskdiff.io import check_folder

    if out == "-":
        raise SettingError("this cannot go to standard output; name a file with -o.")
    check_folder(out)
