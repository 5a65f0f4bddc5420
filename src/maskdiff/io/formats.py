"""The formats by name, and how to open a file of any of them. A new format is one file like `jsonl` and one line here.

>>> sorted(FORMATS)
['arrow', 'csv', 'duckdb', 'excel', 'json', 'jsonl', 'lines', 'parquet', 'sql']
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from maskdiff.errors import InputError, SettingError, UnknownColumnError
from maskdiff.io import arrow, csv, duckdb, excel, json, jsonl, lines, parquet, sql
from maskdiff.io.base import Format, WriteOptions
from maskdiff.io.content import format_of_content, piped_format
from maskdiff.io.inputs import ZIP, input_files, unpacked
from maskdiff.io.many import ManyRows
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.io.streams import STANDARD, open_output, open_source

GZIP = ".gz"

FORMATS: dict[str, Format] = {
    "csv": csv.FORMAT,
    "parquet": parquet.FORMAT,
    "jsonl": jsonl.FORMAT,
    "arrow": arrow.FORMAT,
    "json": json.FORMAT,
    "excel": excel.FORMAT,
    "duckdb": duckdb.FORMAT,
    "sql": sql.FORMAT,
    "lines": lines.FORMAT,
}
WRITTEN = tuple(name for name, format in FORMATS.items() if format.write is not None)
# Endings of files that are not read -> the way out.
_NOT_READ = {
    (
        ".pdf",
        ".doc",
        ".docx",
        ".odt",
        ".html",
        ".htm",
    ): "It is a document: export its table as CSV or Excel.",
    (".pkl", ".pickle", ".joblib", ".rdata", ".rds"): "Such files can run programs: save the table as Parquet or CSV.",
    (".sas7bdat", ".dta", ".sav", ".mdb", ".accdb"): "Export the table as CSV, Parquet or Excel.",
    (".tar", ".tgz", ".tar.gz", ".7z", ".rar", ".bz2", ".xz", ".zst"): "Unpack it first.",
    (".maskdiff",): "It is a model: the model comes first, then the rows.",
}


def format_of(path: str, named: str | None = None, *, setting: str = "format") -> str:
    """The format that is named, or else the one a file's name says; a standard stream is CSV.

    >>> format_of("claims.csv.gz"), format_of("claims.parquet"), format_of("-")
    ('csv', 'parquet', 'csv')
    """
    if named is not None and named not in FORMATS:
        raise SettingError(f"no format is called {named!r}; choose one of {', '.join(FORMATS)}.", setting=setting)
    bare = _without_gzip(path)
    found = named or ("csv" if path == STANDARD else _by_name(path))
    if found is None:
        raise _unknown_format(path, setting)
    if bare != path.lower() and not FORMATS[found].gzips:
        raise SettingError(f"{Path(path).name}: {found} files cannot be packed by gzip, CSV and JSON Lines can.")
    return found


def _by_name(path: str) -> str | None:
    """The format an address or the ending of a name says."""
    if "://" in path:
        scheme = path.partition("://")[0].partition("+")[0].lower()
        named = (name for name, format in FORMATS.items() if scheme in format.addresses)
        return next(named, next((name for name, format in FORMATS.items() if "*" in format.addresses), None))
    bare = _without_gzip(path)
    return next((name for name, format in FORMATS.items() if bare.endswith(format.endings)), None)


@contextmanager
def open_rows(path: str, reading: ReadOptions | None = None, *, repeatable: bool = False) -> Iterator[RowFile]:
    """The rows of a file, "-" for standard input; `repeatable`: they are to be read more than once.

    A folder, or a pattern such as `in/*.csv`, is one table of all its files. A zip archive holds one file.
    """
    reading = reading or ReadOptions()
    with ExitStack() as opened:
        files = [path] if "://" in path else input_files(path)
        if not files:
            raise InputError(f"{path} is a folder without files.")
        rows = [opened.enter_context(_open_one(file, reading, repeatable)) for file in files]
        yield rows[0] if len(rows) == 1 else ManyRows(rows, path)


@contextmanager
def _open_one(path: str, reading: ReadOptions, repeatable: bool, shown: str | None = None) -> Iterator[RowFile]:
    """One file; `shown` is its name where it is unpacked under another one."""
    if path.lower().endswith(ZIP) and reading.format != "excel":
        with unpacked(path) as member, _open_one(member, reading, repeatable, path) as rows:
            yield rows
        return
    name = format_of(path, reading.format or (piped_format() if path == STANDARD else None))
    format = FORMATS[name if reading.format else format_of_content(path, name)]
    with open_source(path, repeatable=repeatable or not format.streams, name=shown) as source:
        yield format.read(source, reading)


def _unknown_format(path: str, setting: str) -> SettingError:
    ways = (way for endings, way in _NOT_READ.items() if path.lower().endswith(endings))
    way = next(ways, None) if setting == "format" else None
    if way is not None:
        return SettingError(f"{path} cannot be read. {way}")
    known = FORMATS if setting == "format" else WRITTEN
    return SettingError(
        f"the name {Path(path).name} does not say a format. Name one, {', '.join(known)}, or a file such as rows.csv.",
        setting=setting,
    )


def check_writable(path: str, writing: WriteOptions) -> str:
    """Refuse, before any work is done, a file that rows cannot be written to; its format."""
    name = format_of(path, writing.format, setting="out_format")
    if FORMATS[name].write is None:
        raise SettingError(f"{name} files are only read. Name one of {', '.join(WRITTEN)}.", setting="out_format")
    if writing.safe_for_spreadsheets and not FORMATS[name].formulas:
        raise SettingError(f"only CSV needs to be made safe for spreadsheets; {path} is {name}.")
    return name


@contextmanager
def open_writer(
    path: str, schema: pa.Schema, writing: WriteOptions | None = None
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that writes batches with this schema; the file appears when all is written."""
    writing = writing or WriteOptions()
    format = FORMATS[check_writable(path, writing)]
    if not format.repeats_names:
        _check_names(schema.names, path)
    with open_output(path) as file, _packed(file, path) as stream:
        assert format.write is not None
        writer = format.write(stream, schema, writing, _without_gzip(path))
        try:
            yield writer.write
        except BaseException:
            if isinstance(writer, parquet.ParquetWriter):
                writer.abandon()
            raise
        writer.close()


def _without_gzip(path: str) -> str:
    return path.lower().removesuffix(GZIP)


@contextmanager
def _packed(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    if not path.lower().endswith(GZIP):
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:
        yield cast(BinaryIO, packing)


def _check_names(names: list[str], path: str) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise UnknownColumnError(
            f"more than one column is named {repeated[0]!r}, which only CSV can hold. Write {path} as CSV, or rename "
            "one of them."
        )
