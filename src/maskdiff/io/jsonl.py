"""JSON Lines: one object a line. A column's type is decided over all lines.

Lists of values of one type are lists; any other nested value is read as its JSON text.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.errors import EmptyTableError, InputError
from maskdiff.io.base import Format
from maskdiff.io.decoding import Decoder, Utf8
from maskdiff.io.rows import ReadOptions, SkippedLines, bad_line, only
from maskdiff.io.streams import ByteSource

Record = dict[str, Any]

# What the cells of a column were -> the type that holds them all as they are; any other mixture is text.
_TYPES: dict[frozenset[str], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset({"bool"}): pa.bool_(),
    frozenset({"int"}): pa.int64(),
    frozenset({"float"}): pa.float64(),
    frozenset({"int", "float"}): pa.float64(),
    frozenset({"str"}): pa.string(),
}
# The same for the values in lists.
_LISTS = {
    frozenset(f"list of {name}" for name in held): pa.list_(data_type) for held, data_type in _TYPES.items() if held
}


class JsonLinesRows:
    """The rows of a JSON Lines file; columns in the order in which their names first appear."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.source, self.reading, self.name = source, reading, source.name
        self.skipped = SkippedLines()
        self.n_rows: int | None
        self.schema, self.n_rows = _schema_of(self._records())
        if not self.schema.names:
            raise EmptyTableError(f"{self.name} holds no rows: one JSON object is needed on each line.")

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        records = self._records()
        while rows := list(islice(records, self.reading.batch_rows(len(self.schema)))):
            yield only(_batch(rows, self.schema), columns)

    def _is_array(self) -> bool:
        return Decoder(self.source, self.reading.encoding).decode(self.source.head()).lstrip().startswith("[")

    def _records(self) -> Iterator[Record]:
        self.skipped = SkippedLines()
        with Utf8(self.source, self.reading.encoding) as stream:
            lines = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", newline="\n")
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    record = self._record(line, number)
                    if record is not None:
                        yield record

    def _record(self, line: str, number: int) -> Record | None:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.lstrip().startswith("["):
                raise InputError(
                    f'{self.name} is a JSON array, not an object on each line. Read it as such: format="json".',
                    setting="format",
                ) from error
            what = f"{self.name}, line {number}: no JSON object ({error})"
        else:
            if isinstance(record, dict):
                return record
            what = f"{self.name}, line {number}: a {type(record).__name__} where a JSON object is needed"
        if self.reading.on_bad_lines == "skip":
            self.skipped.add(what)
            return None
        raise bad_line(what)


def batch_of(records: Sequence[Record]) -> pa.RecordBatch:
    """Rows in memory, as a file with these records would be read.

    >>> batch_of([{"pet": "cat", "age": 3}, {"pet": "dog", "age": 2.5}]).schema.types
    [DataType(string), DataType(double)]
    """
    return _batch(records, _schema_of(records)[0])


def _schema_of(records: Iterable[Record]) -> tuple[pa.Schema, int]:
    """The columns in the order in which their names first appear, and the number of records."""
    found: dict[str, set[str]] = {}
    n_rows = 0
    for record in records:
        n_rows += 1
        for name, cell in record.items():
            found.setdefault(name, set()).update(_type_names(cell))
    return pa.schema([(name, _type_of(types)) for name, types in found.items()]), n_rows


def _batch(rows: Sequence[Record], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array([_cell(row.get(f.name), f.type) for row in rows], f.type) for f in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _type_of(found: set[str]) -> pa.DataType:
    """The type that holds all these cells as they are; an empty list goes with any."""
    if "list" in found and any(name.startswith("list of ") for name in found):
        found = found - {"list"}
    return (_TYPES | _LISTS).get(frozenset(found), pa.string())


def _type_names(cell: Any) -> set[str]:
    if cell is None:
        return set()
    if isinstance(cell, list):
        return {f"list of {name}" for part in cell for name in _type_names(part)} or {"list"}
    # An integer that arrow cannot hold makes its column texts, so that it comes back as it was.
    return {"huge" if type(cell) is int and not -(2**63) <= cell < 2**63 else type(cell).__name__}


def _cell(cell: Any, data_type: pa.DataType) -> Any:
    if pat.is_list(data_type) and cell is not None:
        return [_cell(part, data_type.value_type) for part in cell]
    if cell is None or data_type != pa.string():
        return float(cell) if data_type == pa.float64() and cell is not None else cell
    text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode()  # JSON can spell half a surrogate pair, UTF-8 cannot


class JsonLinesWriter:
    """Writes batches as JSON Lines; numbers that JSON does not know are null, dates are in ISO form."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.file = file

    def write(self, batch: pa.RecordBatch) -> None:
        self.file.write("".join(f"{json_text(row)}\n" for row in batch.to_pylist()).encode())

    def close(self) -> None:
        """Nothing is held back."""


def json_text(row: Record) -> str:
    """One row as a JSON object on one line."""
    return json.dumps(_plain(row), ensure_ascii=False, default=_written)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _written(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


FORMAT = Format(
    (".jsonl", ".ndjson"), JsonLinesRows, lambda file, schema, *_: JsonLinesWriter(file, schema), gzips=True
)
