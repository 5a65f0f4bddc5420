"""JSON files: an array of objects, one a row, in and out. Objects on lines of their own are read as JSON Lines."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from maskdiff.errors import InputError
from maskdiff.io.base import Format
from maskdiff.io.decoding import Utf8
from maskdiff.io.jsonl import JsonLinesRows, Record, json_text
from maskdiff.io.rows import SkippedLines, bad_line


class JsonRows(JsonLinesRows):
    """The rows of a JSON file; an array is held in memory while it is read."""

    def _records(self) -> Iterator[Record]:
        if not self._is_array():
            yield from super()._records()
            return
        self.skipped = SkippedLines()
        with Utf8(self.source, self.reading.encoding) as stream:
            try:
                records = json.load(io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8"))
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.name} is not a JSON array, or is damaged ({error}).") from error
        for number, record in enumerate(records, start=1):
            if isinstance(record, dict):
                yield record
            else:
                self._refuse(f"{self.name}, element {number}: a {type(record).__name__} where an object is needed")

    def _refuse(self, what: str) -> None:
        if self.reading.on_bad_lines != "skip":
            raise bad_line(what)
        self.skipped.add(what)


class JsonWriter:
    """Writes batches as one array, an object a line."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.file, self.before = file, b"[\n"

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            self.file.write(self.before + json_text(row).encode())
            self.before = b",\n"

    def close(self) -> None:
        self.file.write(b"[]\n" if self.before == b"[\n" else b"\n]\n")


FORMAT = Format((".json",), JsonRows, lambda file, schema, *_: JsonWriter(file, schema), gzips=True)
