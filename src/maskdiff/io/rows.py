"""RowFile: the rows of a file in batches, the same whatever the format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from maskdiff.errors import BadLineError, SettingError

# A batch of a wide table has fewer rows than it may have.
_CELLS_AT_ONCE = 1 << 22
ON_BAD_LINES = ("error", "skip")
AUTO = "auto"


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None: as its name and its first bytes say.

    A batch has at most `rows_at_once` rows; of texts and sequences about `characters_at_once` characters are judged at
    once, so that long ones need no more memory than short ones.

    `quote` encloses cells of a CSV file; None: nothing does; "auto": '"', unless the quotes of the file do not pair.
    `header`: whether the first line holds the names of the columns. `sheet` is the name of a sheet of a workbook, and
    of a table of a database; `query` is what to select from a database. `row_groups` are the first row group to read of
    a Parquet file, and the one behind the last.
    """

    format: str | None = None
    delimiter: str | None = None
    quote: str | None = AUTO
    encoding: str | None = None
    on_bad_lines: str = "error"
    rows_at_once: int = 65_536
    characters_at_once: int = 1 << 17
    header: bool | None = None
    sheet: str | None = None
    query: str | None = None
    row_groups: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        quote = '"' if self.quote == AUTO else self.quote
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in f"\r\n{quote or ''}"):
            raise SettingError(f"a delimiter is one character, such as , or ; but {self.delimiter!r} is not.")
        if not f"{self.delimiter or ''}{quote or ''}".isascii():
            raise SettingError(f"delimiter and quote have to be ASCII characters; got {self.delimiter!r}, {quote!r}.")
        if quote is not None and (len(quote) != 1 or quote in "\r\n"):
            raise SettingError(f"the quote is one character, or None; got {self.quote!r}.")
        if self.on_bad_lines not in ON_BAD_LINES:
            raise SettingError(f"for bad lines choose one of {', '.join(ON_BAD_LINES)}; got {self.on_bad_lines!r}.")
        if min(self.rows_at_once, self.characters_at_once) < 1:
            raise SettingError("a batch needs room for at least one row and one character.")

    def batch_rows(self, n_columns: int) -> int:
        """Rows of a batch: fewer than `rows_at_once` where the table is wide."""
        return max(1, min(self.rows_at_once, _CELLS_AT_ONCE // max(n_columns, 1)))


@dataclass
class SkippedLines:
    """The lines of a file that did not become rows.

    `lines` were left out because they could not be read; `first` is what was wrong with the first of them. `total` are
    all lines of a text file, None while it was not read to its end; of these `in_cells` end inside a quoted cell,
    `blank` and `comments` hold no values, and `headers` are the names of the columns once more.
    """

    lines: int = 0
    first: str | None = None
    total: int | None = None
    rows: int = 0
    in_cells: int = 0
    blank: int = 0
    comments: int = 0
    headers: int = 0

    def add(self, what: str) -> None:
        self.lines += 1
        self.first = self.first or what


def bad_line(what: str) -> BadLineError:
    """The error about a line that cannot be read, with the way out."""
    return BadLineError(f'{what}. Mend the line, or leave such lines out: on_bad_lines="skip".', setting="on_bad_lines")


class RowFile(Protocol):
    """The rows of a file. Names may repeat; `n_rows` is None where only reading on would tell."""

    name: str
    schema: pa.Schema
    reading: ReadOptions
    n_rows: int | None

    @property
    def skipped(self) -> SkippedLines:
        """The lines that did not become rows, of those that were read so far."""

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """All rows, or only these columns of them, from the first row on."""


class BatchRows:
    """The rows of one batch in memory, with the types it declares."""

    def __init__(self, batch: pa.RecordBatch, name: str = "the batch") -> None:
        self.batch, self.name, self.schema = batch, name, batch.schema
        self.reading, self.skipped = ReadOptions(), SkippedLines()
        self.n_rows: int | None = batch.num_rows

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        yield only(self.batch, columns)


def rebatched(batches: Iterable[pa.RecordBatch], schema: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of this size, but for the last."""
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
