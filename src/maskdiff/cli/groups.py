"""Options that go together: a command takes the one thing they make (`Commands` hands out their flags)."""

# No annotations from the future: those of the options are read, those of what is returned are imported late.
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli.options import character, named
from maskdiff.cli.registry import Group

if TYPE_CHECKING:
    from maskdiff.distributed import ClusterOptions
    from maskdiff.io import ReadOptions
    from maskdiff.jobs import ColumnOptions, DetectorSettings

Names = list[str] | None


def _of_reading(*flags: str, **settings: Any) -> Any:
    return typer.Option(*flags, rich_help_panel="Reading files", **settings)


def _of_cluster(**settings: Any) -> Any:
    return typer.Option(rich_help_panel="Cluster", **settings)


def _of_tokens(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, rich_help_panel="Texts and sequences")


def _read_options(
    format: Annotated[
        str | None,
        _of_reading(metavar="csv|parquet|jsonl|arrow|json|excel|duckdb|sql|lines", help="Not as the name says."),
    ] = None,
    delimiter: Annotated[str | None, _of_reading(help="Of a CSV file; found out unless given.")] = None,
    quote: Annotated[
        str,
        _of_reading(
            metavar="auto|none|CHARACTER",
            help='What encloses cells of a CSV file: ", unless those of the file do not pair.',
        ),
    ] = "auto",
    encoding: Annotated[str | None, _of_reading(metavar="NAME", help="Of text files; found out unless given.")] = None,
    on_bad_lines: Annotated[
        str, _of_reading(metavar="error|skip", help="What to do with lines of another width.")
    ] = "error",
    header: Annotated[
        bool | None, _of_reading("--header/--no-header", help="Whether the first line names the columns; noticed.")
    ] = None,
    sheet: Annotated[str | None, _of_reading(metavar="NAME", help="Of a workbook; of a database, the table.")] = None,
    query: Annotated[str | None, _of_reading(metavar="SQL", help="What to select from a database.")] = None,
) -> "ReadOptions":
    """How to read a file."""
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


def _column_options(
    columns: Annotated[Names, named("Only these columns; with commas between, or one at a time.")] = None,
    drop: Annotated[Names, named("Not these columns.")] = None,
    categorical: Annotated[Names, named("Read these as categories.")] = None,
    numeric: Annotated[Names, named("Read these as numbers.")] = None,
    dates: Annotated[Names, named("Read these as dates.")] = None,
    free_text: Annotated[Names, named("Read these as free text, such as notes.")] = None,
) -> "ColumnOptions":
    """Which columns of a table are read, and how."""
    from maskdiff.jobs import ColumnOptions

    return ColumnOptions(columns or (), drop or (), categorical or (), numeric or (), dates or (), free_text or ())


def _detector_settings(
    text: Annotated[str | None, _of_tokens("NAME", "Rows are texts: those of this column.")] = None,
    sequence: Annotated[str | None, _of_tokens("NAME", "Rows are lists of symbols, in this column.")] = None,
    separator: Annotated[
        str | None, _of_tokens("TEXT", 'Split a --sequence that is a string here: " "; "" into characters; smiles.')
    ] = None,
    tokenizer: Annotated[
        str | None, _of_tokens("bpe|gpt2|FILE", "How a --text is cut into tokens; learned unless given.")
    ] = None,
    embedder: Annotated[
        str | None, _of_tokens("FOLDER", "A text embedder that sees odd topics: all-MiniLM-L6-v2, ...")
    ] = None,
    reconstructor: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="combined, mlp or kernel for tables; transformer or a model's folder else."),
    ] = None,
    day_first: Annotated[
        bool | None, typer.Option("--day-first/--month-first", help="What comes first in dates such as 03/04/2024.")
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(metavar=".|,", help="The decimal sign, where 1,234 or 1.234 can be read either way."),
    ] = None,
    missing: Annotated[
        str | None, typer.Option(metavar='"?,-"', help="Texts that mean a missing value, besides NA, null, ...")
    ] = None,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal results.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "auto",
    # For tests, and for trying a command out.
    steps: Annotated[int | None, typer.Option(hidden=True, min=1)] = None,
) -> "DetectorSettings":
    """Which detector learns."""
    from maskdiff.jobs import DetectorSettings

    return DetectorSettings(
        text=text,
        sequence=sequence,
        separator=character(separator),
        tokenizer=tokenizer,
        embedder=embedder,
        reconstructor=reconstructor,
        steps=steps,
        day_first=day_first,
        decimal=decimal,
        missing=None if missing is None else missing.split(","),
        others={"device": device, "seed": seed, "progress": False},
    )


def _cluster(
    engine: Annotated[str | None, _of_cluster(metavar="ray", help="Run on a Ray cluster.")] = None,
    address: Annotated[
        str | None,
        _of_cluster(
            metavar="ADDRESS", help="Of the cluster: auto, host:6379, ray://host:10001; unless given, this machine."
        ),
    ] = None,
    workers: Annotated[int | None, _of_cluster(metavar="N", min=1, help="At most so many; as many as fit.")] = None,
    gpus: Annotated[float, _of_cluster(metavar="N", min=0.0, help="Graphics cards for each worker.")] = 0.0,
) -> "ClusterOptions | None":
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


Reading = Annotated["ReadOptions", Group(_read_options)]
Columns = Annotated["ColumnOptions", Group(_column_options)]
Detector = Annotated["DetectorSettings", Group(_detector_settings)]
Cluster = Annotated["ClusterOptions | None", Group(_cluster)]
