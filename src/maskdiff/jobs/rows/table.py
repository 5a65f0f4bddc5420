"""Between files and detectors: the rows to learn from, and the rows to judge, as a fitted model reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.encoder_settings import DROP
from maskdiff.errors import UnknownColumnError
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.labels import Labels
from maskdiff.progress import Callback, Progress


class NormalTableRows:
    """The rows of a file to learn from, their texts as they stand there.

    `columns` says how to read single columns, as in `TableDetector`; those to be dropped are never looked at. `n_rows`
    is None until all rows were read once, where neither the file says it nor all rows are taken.
    """

    def __init__(
        self,
        rows: RowFile,
        columns: Mapping[str, str] | None = None,
        labels: Labels | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.rows, self.columns, self.labels, self.callback = rows, dict(columns or {}), labels, callback
        names = rows.schema.names
        check_present(rows, [name for name, how in self.columns.items() if how != DROP])
        self.used = [at for at, name in enumerate(names) if self.columns.get(name) != DROP]
        check_single(rows, [names[at] for at in self.used])
        self.needed = sorted({*self.used, *([place_of(rows, labels.column)] if labels else [])})
        self.n_rows = rows.n_rows if labels is None else None

    def batches(self) -> Iterator[pa.Table]:
        """The rows; columns to be dropped are there in name only."""
        file_names, n_rows = self.rows.schema.names, 0
        for batch in self._normal_batches():
            cells = {file_names[at]: as_single(batch.column(file_names[at])) for at in self.used}
            nothing = pa.nulls(batch.num_rows)
            n_rows += batch.num_rows
            yield pa.table({name: cells.get(name, nothing) for name in dict.fromkeys(file_names)})
        if self.labels is not None:
            self.labels.check_any_normal()
        self.n_rows = n_rows

    def _normal_batches(self) -> Iterator[pa.RecordBatch]:
        done = 0
        for batch in self.rows.batches(self.needed):
            done += batch.num_rows
            if self.callback is not None:
                self.callback(Progress("reading", done, self.rows.n_rows or 0))
            if self.labels is None:
                yield batch
            else:
                yield batch.filter(pa.array(self.labels.is_normal(batch.column(self.labels.column))))


class ModelTableRows:
    """The columns a fitted encoder knows, out of the batches of a file; `ignored` are those it never saw."""

    def __init__(self, rows: RowFile, encoder: TableEncoder) -> None:
        self.rows = rows
        names, known = rows.schema.names, set(map(str, encoder.feature_names_in_))
        check_single(rows, encoder.columns_read_ if encoder.named_ else names)
        first = {name: names.index(name) for name in names}
        self.places = [at for name, at in first.items() if name in known or not encoder.named_]
        self.ignored = [name for name in first if encoder.named_ and name not in {*known, *(encoder.columns or ())}]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        return self.rows.batches()

    def shown(self, batch: pa.RecordBatch) -> pa.Table:
        """The cells as they stand in the file, for showing them."""
        return pa.table({self.rows.schema.names[at]: as_single(batch.column(at)) for at in self.places})

    def read(self, batch: pa.RecordBatch, first: int = 1) -> pa.Table:
        """The cells as the encoder takes them, for judging them; no cell's meaning hangs on its row's number."""
        return self.shown(batch)


def as_single(column: pa.Array) -> pa.Array:
    """A column whose cells are single values: nested ones become their JSON text."""
    return as_texts(column) if pat.is_nested(column.type) else column


def read_table(rows: RowFile, encoder: TableEncoder | None = None) -> pa.Table:
    """All rows of a file as one table, columns of texts as what they stand for to this encoder."""
    encoder = encoder or TableEncoder()
    found, recognition = NormalTableRows(rows, encoder.columns), encoder.recognition()
    for batch in found.batches():
        recognition.add(encoder.read(batch))
    text_types = recognition.found()
    parts = [recognition.typed(batch, text_types) for batch in found.batches()]
    return pa.concat_tables(parts) if parts else found.rows.schema.empty_table()


def place_of(rows: RowFile, name: str) -> int:
    """Where the column of that name is."""
    check_present(rows, [name])
    check_single(rows, [name])
    return int(rows.schema.names.index(name))


def check_present(rows: RowFile, names: Collection[str]) -> None:
    missing = [name for name in names if name not in rows.schema.names]
    if missing:
        there = ", ".join(map(repr, dict.fromkeys(rows.schema.names)))
        raise UnknownColumnError(f"{rows.name} has no column {missing[0]!r}; it has {there}.")


def check_single(rows: RowFile, names: Sequence[str]) -> None:
    """A column is known by its name, so a name that is needed may be there only once."""
    counted = Counter(rows.schema.names)
    twice = next((name for name in names if counted[name] > 1), None)
    if twice is not None:
        places = [str(at + 1) for at, name in enumerate(rows.schema.names) if name == twice]
        raise UnknownColumnError(
            f"{rows.name}: columns {' and '.join(places)} are both named {twice!r}. Rename one of them, or drop them.",
            setting="drop",
        )
