"""Tables and queries of a DuckDB database, in batches and with the types it declares. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from maskdiff.errors import InputError, MissingExtraError
from maskdiff.io.base import Format
from maskdiff.io.rows import ReadOptions, SkippedLines, only, rebatched
from maskdiff.io.sql import check_database, choose_table
from maskdiff.io.streams import ByteSource


class DuckDbRows:
    """The rows of a table or of a query."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.path = self.name = source.path.removeprefix("duckdb:///")
        self.reading, self.skipped = reading, SkippedLines()
        self.n_rows: int | None = None
        check_database(self.path, source.path)
        with self._opened() as database:
            self.query = reading.query or _select(database, reading, self.name)
        with self._batches() as found:
            self.schema: pa.Schema = found.schema

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        with self._batches() as found:
            for batch in rebatched(found, self.schema, self.reading.batch_rows(len(self.schema))):
                yield only(batch, columns)

    @contextmanager
    def _batches(self) -> Iterator[Any]:
        with self._opened() as database:
            yield database.sql(self.query).to_arrow_reader(self.reading.rows_at_once)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            import duckdb
        except ImportError as error:
            raise MissingExtraError("duckdb", needs="duckdb") from error
        try:
            with duckdb.connect(self.path, read_only=True) as database:
                yield database
        except duckdb.Error as error:
            raise InputError(f"{self.name} cannot be read: {str(error).splitlines()[0]}.") from error


def _select(database: Any, reading: ReadOptions, name: str) -> str:
    tables = [table for (table,) in database.sql("select table_name from information_schema.tables").fetchall()]
    chosen = choose_table(tables, reading, name).replace('"', '""')
    return f'select * from "{chosen}"'


FORMAT = Format((".duckdb", ".ddb"), DuckDbRows, addresses=("duckdb",))
