"""Parquet: columns with declared types, in and out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa

from maskdiff.io.base import Format, refusing_damage
from maskdiff.io.rows import ReadOptions, SkippedLines, only, rebatched
from maskdiff.io.streams import ByteSource


class ParquetRows:
    """The rows of a Parquet file."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.path, self.name, self.reading, self.skipped = source.checked_path(), source.name, reading, SkippedLines()
        with self._opened() as file:
            self.schema: pa.Schema = file.schema_arrow
            groups = range(*(reading.row_groups or (0, file.num_row_groups)))
            self.n_rows: int | None = sum(file.metadata.row_group(at).num_rows for at in groups)

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        # Parquet takes "a" for "a.b" as well; where names have dots all columns are read and cut to size after.
        named = None if columns is None or any("." in name for name in self.schema.names) else columns
        names = None if named is None else [self.schema.names[at] for at in named]
        size = self.reading.batch_rows(len(self.schema))
        with self._opened() as file:
            groups = None if self.reading.row_groups is None else list(range(*self.reading.row_groups))
            batches = file.iter_batches(batch_size=size, columns=names, row_groups=groups)
            for batch in rebatched(batches, _part(self.schema, named), size):
                yield batch if named is columns else only(batch, columns)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with (
            refusing_damage(self.name, "a Parquet file"),
            pq.ParquetFile(self.path, memory_map=True, pre_buffer=False) as file,
        ):
            yield file


def _part(schema: pa.Schema, columns: Sequence[int] | None) -> pa.Schema:
    return schema if columns is None else pa.schema([schema.field(at) for at in columns], schema.metadata)


class ParquetWriter:
    """Writes batches as Parquet."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self.writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.write_batch(batch)

    def close(self) -> None:
        self.writer.close()

    def abandon(self) -> None:
        """The file is not to be completed: nothing more is written when this object goes."""
        self.writer.is_open = False


FORMAT = Format((".parquet", ".pq"), ParquetRows, lambda file, schema, *_: ParquetWriter(file, schema))
