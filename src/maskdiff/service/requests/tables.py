"""Files that clients send: of a known format, and checked for their size before anything is read into memory."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maskdiff.errors import InputError
from maskdiff.io.formats import open_rows
from maskdiff.io.rows import ReadOptions
from maskdiff.service.requests.bodies import TooLarge
from maskdiff.service.requests.problems import Problem
from maskdiff.service.settings import Limits

CSV, LINES, PARQUET, JSON = "text/csv", "application/x-ndjson", "application/vnd.apache.parquet", "application/json"
# Media type -> the format of `maskdiff.io` that reads and writes it.
FORMATS = {
    CSV: "csv",
    LINES: "jsonl",
    "application/jsonl": "jsonl",
    PARQUET: "parquet",
    "application/x-parquet": "parquet",
}
# Ending of an uploaded file's name -> format.
ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".xlsx": "excel",
}
_CHECKED_AT_ONCE = 4096


def format_of_name(name: str) -> str:
    """The format that the name of an uploaded file says; `.gz` behind it is taken off."""
    bare = name.lower().removesuffix(".gz")
    found = next((format for ending, format in ENDINGS.items() if bare.endswith(ending)), None)
    if found is None:
        raise Problem(415, f"the name has to end in one of {', '.join(ENDINGS)}.")
    return found


def check_table(path: Path, format: str, limits: Limits) -> None:
    """Refuse a file with too many rows or columns, or one that would grow beyond the limit when it is read."""
    if not path.stat().st_size:
        raise Problem(400, "the file is empty.")
    if format == "parquet":
        _check_parquet(path, limits)
    elif format == "excel":
        _check_workbook(path, limits)
    elif _lines(path) > limits.rows + 1:
        raise TooLarge("lines of a file", limits.rows)
    try:
        with open_rows(str(path), ReadOptions(format=format)) as rows:
            n_columns, n_rows = len(rows.schema.names), rows.n_rows
    except InputError as error:
        raise Problem(400, str(error).replace(str(path), "the file")) from error
    if n_columns > limits.columns:
        raise TooLarge("columns", limits.columns)
    if (n_rows or 0) > limits.rows:
        raise TooLarge("rows", limits.rows)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))


def _check_parquet(path: Path, limits: Limits) -> None:
    """By what the file says about itself, then by the texts that it repeats: a page may stand for a million of them."""
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.metadata
            groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
            if metadata.num_rows > limits.rows or sum(group.num_rows for group in groups) > limits.rows:
                raise TooLarge("rows", limits.rows)
            if len(file.schema_arrow.names) > limits.columns or metadata.num_columns > 4 * limits.columns:
                raise TooLarge("columns", limits.columns)
            if sum(group.total_byte_size for group in groups) > limits.unpacked_bytes:
                raise TooLarge("bytes once the file is unpacked", limits.unpacked_bytes)
            texts = [field.name for field in file.schema_arrow if field.type in (pa.string(), pa.binary())]
        size = 0
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(_CHECKED_AT_ONCE):
                size += sum(_size(column) for column in batch.columns)
                if size > limits.unpacked_bytes:
                    raise TooLarge("bytes once the file is unpacked", limits.unpacked_bytes)
    except (pa.ArrowException, OSError) as error:
        raise Problem(400, "the body is not a Parquet file, or is damaged.") from error


def _size(column: pa.Array) -> int:
    """The bytes of a column where each cell is written out."""
    if not isinstance(column.type, pa.DictionaryType):
        return int(column.nbytes)
    lengths = pc.take(pc.binary_length(column.dictionary), column.indices)
    return int(pc.sum(lengths).as_py() or 0) + 4 * len(column)


def _check_workbook(path: Path, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise Problem(400, "the body is not a workbook, or is damaged.") from error
    if size > limits.unpacked_bytes:
        raise TooLarge("bytes once the file is unpacked", limits.unpacked_bytes)
