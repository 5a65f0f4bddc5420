"""Options that several commands share, with their help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from maskdiff import threads

_COLUMNS, _OUTPUT = "Columns", "Output"


def named(text: str) -> Any:
    """An option that names columns."""
    return typer.Option(metavar="NAME", help=text, rich_help_panel=_COLUMNS)


def _use_threads(number: int | None) -> None:
    # Kept by no command: torch, which is loaded when a command runs, reads it from the environment.
    if number is not None:
        threads.use(number)


Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model that `maskdiff fit` wrote.")]
Rows = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Rows: a file, a folder, '*.csv', an address of a database; - reads a pipe."),
]


Device = Annotated[str, typer.Option(help="auto, cpu, cuda, ...")]
Prefix = Annotated[str, typer.Option(help="Before the names of the columns that are added.")]
CheckpointSeconds = Annotated[float, typer.Option(hidden=True)]

Where = Annotated[
    str | None,
    typer.Option("--where", metavar="COLUMN=VALUE", help="The first row with that value there."),
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
