"""The formats by name, and how to open a file of any of them. A new format is one file like `jsonl` and one line here.

>>> sorted(FORMATS)
['arrow', 'csv', 'jsonl', 'parquet']
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa

from maskdiff.errors import SettingError, UnknownColumnError
from maskdiff.io import arrow, csv, jsonl, parquet
from maskdiff.io.base import Format, WriteOptions
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.io.streams import STANDARD, open_output, open_source

GZIP = ".gz"

FORMATS: dict[str, Format] = {
    "csv": csv.FORMAT,
    "parquet": parquet.FORMAT,
    "jsonl": jsonl.FORMAT,
    "arrow": arrow.FORMAT,
}


def format_of(path: str, named: str | None = None, *, setting: str = "format") -> str:
    """The format that is named, or else the one a file's name says; a standard stream is CSV.

    >>> format_of("claims.csv.gz"), format_of("claims.parquet"), format_of("-")
    ('csv', 'parquet', 'csv')
    """
    if named is not None and named not in FORMATS:
        raise SettingError(f"no format is called {named!r}; choose one of {', '.join(FORMATS)}.", setting=setting)
    bare = _without_gzip(path)
    by_ending = (name for name, format in FORMATS.items() if bare.endswith(format.endings))
    found = named or ("csv" if path == STANDARD else next(by_ending, None))
    if found is None:
        raise SettingError(
            f"the name {Path(path).name} does not say a format. Name one, {', '.join(FORMATS)}, or save the table as "
            "CSV or Parquet.",
            setting=setting,
        )
    if bare != path.lower() and not FORMATS[found].gzips:
        raise SettingError(f"{Path(path).name}: {found} files cannot be packed by gzip, CSV and JSON Lines can.")
    return found


@contextmanager
def open_rows(path: str, reading: ReadOptions | None = None, *, repeatable: bool = False) -> Iterator[RowFile]:
    """The rows of a file, "-" for standard input; `repeatable`: they are to be read more than once."""
    reading = reading or ReadOptions()
    format = FORMATS[format_of(path, reading.format)]
    with open_source(path, repeatable=repeatable or not format.streams) as source:
        yield format.read(source, reading)


def check_writable(path: str, writing: WriteOptions) -> str:
    """Refuse, before any work is done, a file that rows cannot be written to; its format."""
    name = format_of(path, writing.format, setting="out_format")
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
        writer = format.write(stream, schema, writing, _without_gzip(path))
        yield writer.write
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
