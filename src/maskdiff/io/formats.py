"""The formats by name, and how to open a file of any of them."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from maskdiff.errors import SettingError, UnknownColumnError
from maskdiff.io.csv import DelimitedRows, DelimitedWriter
from maskdiff.io.jsonl import JsonLinesRows, JsonLinesWriter
from maskdiff.io.parquet import ArrowRows, ArrowWriter, ParquetRows, ParquetWriter
from maskdiff.io.rows import ReadOptions, RowFile
from maskdiff.io.streams import STANDARD, ByteSource, open_output, open_source

PACKED = ".gz"
TABBED = (".tsv", ".tab")


@dataclass(frozen=True)
class WriteOptions:
    """How a file is to be written; None: as its name says."""

    format: str | None = None
    delimiter: str | None = None
    safe_for_spreadsheets: bool = False


@dataclass(frozen=True)
class Format:
    """What its files are called, who reads and writes them, whether one pass is enough, whether gzip may pack them."""

    endings: tuple[str, ...]
    read: Callable[[ByteSource, ReadOptions], RowFile]
    write: Callable[[BinaryIO, pa.Schema, WriteOptions], Any]
    streams: bool = False
    packs: bool = False


FORMATS: dict[str, Format] = {
    "csv": Format(
        (".csv", ".tsv", ".tab", ".txt"),
        DelimitedRows,
        lambda file, schema, how: DelimitedWriter(
            file, schema, delimiter=how.delimiter or ",", safe=how.safe_for_spreadsheets
        ),
        streams=True,
        packs=True,
    ),
    "parquet": Format((".parquet", ".pq"), ParquetRows, lambda file, schema, _: ParquetWriter(file, schema)),
    "jsonl": Format(
        (".jsonl", ".ndjson", ".json"),
        JsonLinesRows,
        lambda file, schema, _: JsonLinesWriter(file, schema),
        packs=True,
    ),
    "arrow": Format((".arrow", ".feather", ".ipc"), ArrowRows, lambda file, schema, _: ArrowWriter(file, schema)),
}


def format_of(path: str, asked: str | None = None) -> str:
    """The format asked for, or else the one a file's name tells; a standard stream is CSV.

    >>> format_of("claims.csv.gz"), format_of("claims.parquet"), format_of("-")
    ('csv', 'parquet', 'csv')
    """
    if asked is not None and asked not in FORMATS:
        raise SettingError(f"no format is called {asked!r}; choose one of {', '.join(FORMATS)}.")
    bare = path.lower().removesuffix(PACKED)
    told = [name for name, kind in FORMATS.items() if bare.endswith(kind.endings)]
    found = asked or ("csv" if path == STANDARD else next(iter(told), None))
    if found is None:
        raise SettingError(
            f"the name {Path(path).name} does not tell a format. Say --format {'|'.join(FORMATS)}, or save the table "
            "as CSV or Parquet."
        )
    if bare != path.lower() and not FORMATS[found].packs:
        raise SettingError(f"{Path(path).name}: only CSV and JSON Lines may be packed by gzip.")
    return found


@contextmanager
def open_rows(path: str, reading: ReadOptions | None = None, *, again: bool = False) -> Iterator[RowFile]:
    """The rows of a file, "-" for standard input; `again`: they are to be read more than once."""
    reading = reading or ReadOptions()
    kind = FORMATS[format_of(path, reading.format)]
    with open_source(path, again=again or not kind.streams) as source:
        yield kind.read(source, reading)


@contextmanager
def open_writer(
    path: str, schema: pa.Schema, writing: WriteOptions | None = None
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that writes batches with this schema; the file appears when all is written."""
    writing = writing or WriteOptions()
    name = format_of(path, writing.format)
    if path.lower().removesuffix(PACKED).endswith(TABBED):
        writing = replace(writing, delimiter="\t")
    if name != "csv":
        _check_for_columns(schema.names, path)
    if writing.safe_for_spreadsheets and name != "csv":
        raise SettingError(f"only CSV needs to be made safe for spreadsheets; {path} is {name}.")
    with open_output(path) as file, _packed(file, path) as stream:
        writer = FORMATS[name].write(stream, schema, writing)
        yield writer.write
        writer.close()


@contextmanager
def _packed(file: BinaryIO, path: str) -> Iterator[BinaryIO]:
    if not path.lower().endswith(PACKED):
        yield file
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:
        yield cast(BinaryIO, packing)


def _check_for_columns(names: list[str], path: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise UnknownColumnError(
            f"more than one column is named {twice[0]!r}, which only CSV can hold. Write {path} as CSV, or rename one."
        )
