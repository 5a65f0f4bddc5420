"""Options that several commands share, with their help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff import threads

if TYPE_CHECKING:
    from maskdiff.distributed import ClusterOptions
    from maskdiff.io import ReadOptions

_TOKENS, _COLUMNS, _READING, _OUTPUT = "Texts and sequences", "Columns", "Reading files", "Output"
_CLUSTER = "Cluster"


def named(text: str) -> Any:
    """An option that names columns."""
    return typer.Option(metavar="NAME", help=text, rich_help_panel=_COLUMNS)


def of_tokens(metavar: str, text: str) -> Any:
    """An option about rows that are texts or sequences."""
    return typer.Option(metavar=metavar, help=text, rich_help_panel=_TOKENS)


def _use_threads(number: int | None) -> None:
    # Kept by no command: torch, which is loaded when a command runs, reads it from the environment.
    if number is not None:
        threads.use(number)


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `maskdiff fit` wrote.")]
Rows = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Rows: a file, a folder, '*.csv', an address of a database; - reads a pipe."),
]

Names = list[str] | None
Columns = Annotated[Names, named("Only these columns; with commas between, or one at a time.")]
Drop = Annotated[Names, named("Not these columns.")]
Categorical = Annotated[Names, named("Read these as categories.")]
Numeric = Annotated[Names, named("Read these as numbers.")]
Dates = Annotated[Names, named("Read these as dates.")]
FreeText = Annotated[Names, named("Read these as free text, such as notes.")]

Text = Annotated[str | None, of_tokens("NAME", "Rows are texts: those of this column.")]
Sequence = Annotated[str | None, of_tokens("NAME", "Rows are lists of symbols, in this column.")]
Separator = Annotated[
    str | None, of_tokens("TEXT", 'Split a --sequence that is a string here: " "; "" into characters.')
]

Reconstructor = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="combined, mlp or kernel for tables; transformer or a model's folder else."),
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, ...")]
Prefix = Annotated[str, typer.Option(help="Before the names of the columns that are added.")]
# For tests, and for trying a command out.
Steps = Annotated[int | None, typer.Option(hidden=True, min=1)]
CheckpointSeconds = Annotated[float, typer.Option(hidden=True)]

Where = Annotated[
    str | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="The first row with that value there."),
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="csv|parquet|jsonl|arrow|json|excel|duckdb|sql|lines",
        help="Not as the name says.",
        rich_help_panel=_READING,
    ),
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Of a CSV file; found out unless given.", rich_help_panel=_READING)
]
Quote = Annotated[
    str,
    typer.Option(
        "--quote",
        metavar="auto|none|CHARACTER",
        help='What encloses cells of a CSV file: ", unless those of the file do not pair.',
        rich_help_panel=_READING,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line names the columns; noticed.", rich_help_panel=_READING
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Of a workbook; of a database, the table.", rich_help_panel=_READING),
]
Query = Annotated[
    str | None,
    typer.Option("--query", metavar="SQL", help="What to select from a database.", rich_help_panel=_READING),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of text files; found out unless given.", rich_help_panel=_READING),
]
OnBadLines = Annotated[
    str,
    typer.Option(
        "--on-bad-lines", metavar="error|skip", help="What to do with lines of another width.", rich_help_panel=_READING
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        min=1,
        help="How many threads compute; as many as there are processors to use.",
        callback=_use_threads,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="ray", help="Run on a Ray cluster.", rich_help_panel=_CLUSTER),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Of the cluster: auto, host:6379, ray://host:10001; unless given, this machine.",
        rich_help_panel=_CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, help="At most so many; as many as fit.", rich_help_panel=_CLUSTER),
]
Gpus = Annotated[
    float,
    typer.Option("--gpus", metavar="N", min=0.0, help="Graphics cards for each worker.", rich_help_panel=_CLUSTER),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace the output even if it is something else.", rich_help_panel=_OUTPUT)
]
FalseAlarmRate = Annotated[
    float | None,
    typer.Option("--false-alarm-rate", help="Share of normal rows that may be called anomalies; 0.01 unless given."),
]
Effort = Annotated[
    str | None,
    typer.Option(
        "--effort",
        metavar="auto|alarms|full|SHARE",
        help="Which rows get the whole grid of probes: those that may be alarms, all, or a share of normal ones.",
    ),
]
LabelColumn = Annotated[str, typer.Option("--label", metavar="NAME", help="The column that says what a row is.")]
NormalValues = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE", help="The label of normal rows, 0 unless given; may be repeated.", rich_help_panel=_COLUMNS
    ),
]


def reading_of(
    format: str | None,
    delimiter: str | None,
    quote: str,
    encoding: str | None,
    on_bad_lines: str,
    header: bool | None,
    sheet: str | None,
    query: str | None,
) -> ReadOptions:
    """How to read a file, as the options say."""
    from maskdiff.io import ReadOptions

    return ReadOptions(
        format,
        "\t" if delimiter == "tab" else character(delimiter),
        None if quote == "none" else quote,
        encoding,
        on_bad_lines,
        header=header,
        sheet=sheet,
        query=query,
    )


def cluster_of(engine: str | None, address: str | None, workers: int | None, gpus: float) -> ClusterOptions | None:
    """The cluster to run on, None to run here."""
    from maskdiff.errors import SettingError

    if engine is None:
        if address is not None or workers is not None or gpus:
            raise SettingError("--address, --workers and --gpus are about a cluster; say which one with --engine ray.")
        return None
    if engine != "ray":
        raise SettingError(f"no engine is called {engine!r}; there is ray, or none to run on this machine.")
    from maskdiff.distributed import ClusterOptions

    return ClusterOptions(address, workers, gpus=gpus)


def share_of_odd_rows(given: str | None) -> float | str | None:
    """The share that is given, or auto: the scores decide."""
    from maskdiff.errors import SettingError

    if given is None or given == "auto":
        return given
    try:
        return float(given)
    except ValueError:
        message = f"contamination is the share of odd rows, such as 0.05, or auto; got {given!r}."
        raise SettingError(message, setting="contamination") from None


def effort_of(given: str | None) -> str | float | None:
    """A share where it is a number; a name stays one."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given


def condition(where: str | None) -> tuple[str, str] | None:
    """A column and the value it is to have."""
    from maskdiff.errors import SettingError

    if where is None:
        return None
    name, equals, value = where.partition("=")
    if not equals:
        raise SettingError(f"--where needs a column and a value, such as claim_id=17; got {where!r}.")
    return name.strip(), value


def character(given: str | None) -> str | None:
    """A delimiter or separator as it was meant: a shell makes it hard to give a tab or a line end."""
    return {"\\t": "\t", "\\n": "\n"}.get(given or "", given)


def check_file(out: str) -> None:
    """Refuse a standard stream: a model or a page is a file."""
    from maskdiff.errors import SettingError

    if out == "-":
        raise SettingError("this cannot go to standard output; name a file with -o.")
