"""Parquet and Arrow: columns with declared types, in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.errors import InputError
from maskdiff.io.rows import ReadOptions, SkippedLines, only, rebatched, rows_at_once
from maskdiff.io.streams import ByteSource


class ParquetRows:
    """The rows of a Parquet file."""

    declares_types = True

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.path, self.name, self.skipped = _path(source), source.name, SkippedLines()
        with self._opened() as file:
            self.schema: pa.Schema = file.schema_arrow
            self.n_rows: int | None = file.metadata.num_rows

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        # Parquet takes "a" for "a.b" as well; where names have dots all columns are read and cut to size after.
        named = None if columns is None or any("." in name for name in self.schema.names) else columns
        names = None if named is None else [self.schema.names[at] for at in named]
        size = rows_at_once(len(self.schema))
        with self._opened() as file:
            for batch in rebatched(file.iter_batches(batch_size=size, columns=names), _part(self.schema, named)):
                yield batch if named is columns else only(batch, columns)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with (
            _reading(self.name, "a Parquet file"),
            pq.ParquetFile(self.path, memory_map=True, pre_buffer=False) as file,
        ):
            yield file


class ArrowRows:
    """The rows of an Arrow file (Feather version 2) or stream."""

    declares_types = True

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.path, self.name, self.skipped = _path(source), source.name, SkippedLines()
        self.n_rows: int | None = None
        with self._opened() as (schema, _):
            self.schema: pa.Schema = schema

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        with self._opened() as (schema, batches):
            for batch in rebatched(batches, schema):
                yield only(batch, columns)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with _reading(self.name, "an Arrow file"), pa.memory_map(self.path) as mapped:
            if mapped.read(6) == b"ARROW1":
                file = pa.ipc.open_file(mapped)
                yield file.schema, (file.get_batch(at) for at in range(file.num_record_batches))
            else:
                mapped.seek(0)
                stream = pa.ipc.open_stream(mapped)
                yield stream.schema, iter(stream)


def _path(source: ByteSource) -> str:
    source.open().close()  # for its words about files that are not there
    return source.path


def _part(schema: pa.Schema, columns: Sequence[int] | None) -> pa.Schema:
    return schema if columns is None else pa.schema([schema.field(at) for at in columns], schema.metadata)


@contextmanager
def _reading(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{name} is not {what}, or is damaged ({_first_line(error)}).") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


class ParquetWriter:
    """Writes batches as Parquet."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self.writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch)

    def close(self) -> None:
        self.writer.close()


class ArrowWriter:
    """Writes batches as an Arrow file; categories become plain columns, for the format allows but one set of them."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.schema = pa.schema([_plain(field) for field in schema], schema.metadata)
        self.writer = pa.ipc.new_file(pa.PythonFile(file, mode="w"), self.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch.cast(self.schema))

    def close(self) -> None:
        self.writer.close()


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if pat.is_dictionary(field.type) else field
