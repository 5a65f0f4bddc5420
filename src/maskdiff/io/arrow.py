"""Arrow files (Feather version 2) and streams: columns with declared types, in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.io.base import Format, refusing_damage
from maskdiff.io.rows import ReadOptions, SkippedLines, only, rebatched
from maskdiff.io.streams import ByteSource

_MAGIC = b"ARROW1"


class ArrowRows:
    """The rows of an Arrow file or stream."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.path, self.name, self.reading, self.skipped = source.checked_path(), source.name, reading, SkippedLines()
        self.n_rows: int | None = None
        with self._opened() as (schema, _):
            self.schema: pa.Schema = schema

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        with self._opened() as (schema, batches):
            for batch in rebatched(batches, schema, self.reading.batch_rows(len(schema))):
                yield only(batch, columns)

    @contextmanager
    def _opened(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        with refusing_damage(self.name, "an Arrow file"), pa.memory_map(self.path) as mapped:
            if mapped.read(len(_MAGIC)) == _MAGIC:
                file = pa.ipc.open_file(mapped)
                yield file.schema, (file.get_batch(at) for at in range(file.num_record_batches))
            else:
                mapped.seek(0)
                stream = pa.ipc.open_stream(mapped)
                yield stream.schema, iter(stream)


class ArrowWriter:
    """Writes batches as an Arrow file; categories become plain columns, for the format allows one set of them only."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self.schema = pa.schema([_plain(field) for field in schema], schema.metadata)
        self.writer = pa.ipc.new_file(pa.PythonFile(file, mode="w"), self.schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch.cast(self.schema))

    def close(self) -> None:
        self.writer.close()


def _plain(field: pa.Field) -> pa.Field:
    return field.with_type(field.type.value_type) if pat.is_dictionary(field.type) else field


FORMAT = Format((".arrow", ".feather", ".ipc"), ArrowRows, lambda file, schema, *_: ArrowWriter(file, schema))
