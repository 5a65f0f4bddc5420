"""RowFile: the rows of a file in batches, the same whatever the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from maskdiff.errors import SettingError

_ROWS_AT_ONCE = 65_536
_CELLS_AT_ONCE = 1 << 22
ON_BAD_LINES = ("error", "skip")


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None: as its name and its first bytes say."""

    format: str | None = None
    delimiter: str | None = None
    quote: str = '"'
    encoding: str | None = None
    on_bad_lines: str = "error"

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in f"\r\n{self.quote}"):
            raise SettingError(f"a delimiter is one character, such as , or ; but {self.delimiter!r} is not.")
        if len(self.quote) != 1 or self.quote in "\r\n":
            raise SettingError(f"the quote is one character; got {self.quote!r}.")
        if self.on_bad_lines not in ON_BAD_LINES:
            raise SettingError(f"for bad lines choose one of {', '.join(ON_BAD_LINES)}; got {self.on_bad_lines!r}.")


@dataclass
class SkippedLines:
    """How many lines were left out because they could not be read, and what was wrong with the first."""

    lines: int = 0
    first: str | None = None

    def add(self, what: str) -> None:
        self.lines += 1
        self.first = self.first or what


class RowFile(Protocol):
    """The rows of a file. Names may repeat; `n_rows` is None where only reading on would tell."""

    name: str
    schema: pa.Schema
    n_rows: int | None
    skipped: SkippedLines

    @property
    def declares_types(self) -> bool:
        """Whether the format says what its columns hold; if not, all of them are texts."""

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, or only these columns of them, from the first row on."""


def rows_at_once(n_columns: int) -> int:
    """Rows of a batch: 65,536, fewer where the table is wide."""
    return max(1, min(_ROWS_AT_ONCE, _CELLS_AT_ONCE // max(n_columns, 1)))


def rebatched(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of that size, but for the last."""
    size = rows_at_once(len(schema))
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= size:
            table = pa.Table.from_batches(waiting, schema)
            whole = table.num_rows - table.num_rows % size
            yield from (as_batch(table.slice(at, size)) for at in range(0, whole, size))
            waiting = [as_batch(table.slice(whole))]
    if sum(part.num_rows for part in waiting):
        yield as_batch(pa.Table.from_batches(waiting, schema))


def as_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table as one batch."""
    arrays = [column.combine_chunks() for column in table.columns]
    whole = [array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array for array in arrays]
    return pa.RecordBatch.from_arrays(whole, schema=table.schema)


def only(batch: pa.RecordBatch, columns: Sequence[int] | None) -> pa.RecordBatch:
    """These columns of a batch, by position: two may share a name."""
    if columns is None:
        return batch
    arrays = [batch.column(at) for at in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([batch.schema.field(at) for at in columns]))
