"""Between files and detectors: the rows to learn from, typed, and the rows to judge, as a fitted model reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, NumericType
from maskdiff.encoders.table.column_types.date_order import choose_orders, without_other_order
from maskdiff.encoders.table.encoder import DROP, TableEncoder
from maskdiff.errors import UnknownColumnError
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.csv_types import TextTypes, candidates, is_text, texts_of, without_missing
from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.labels import Labels
from maskdiff.progress import Callback, Progress


class NormalTableRows:
    """The rows of a file to learn from. Constructing it reads the file once: columns get their types from all rows.

    `columns` says how to read single columns, as in `TableDetector`; those to be dropped are never looked at.
    `day_first` says which comes first in dates such as 03/04/2024; None: what fits the whole column.
    """

    def __init__(
        self,
        rows: RowFile,
        columns: Mapping[str, str] | None = None,
        labels: Labels | None = None,
        callback: Callback | None = None,
        day_first: bool | None = None,
    ) -> None:
        self.rows, self.columns, self.labels, self.callback = rows, dict(columns or {}), labels, callback
        self.day_first = day_first
        names = rows.schema.names
        check_present(rows, [name for name, how in self.columns.items() if how != DROP])
        self.used = [at for at, name in enumerate(names) if self.columns.get(name) != DROP]
        check_single(rows, [names[at] for at in self.used])
        self.needed = sorted({*self.used, *([place_of(rows, labels.column)] if labels else [])})
        self.n_rows = 0
        self.text_types: dict[str, ColumnType] = {}
        self._look()

    def _look(self) -> None:
        """One pass: how many rows there are, and the type of each column of texts."""
        watches = {name: TextTypes(self._possible(name)) for name in self._texts() if not self._stays_text(name)}
        known = self.rows.n_rows if self.labels is None else None
        for batch in self._normal_batches():
            self.n_rows += batch.num_rows
            for name, watch in watches.items():
                if not watch.settled:
                    watch.add(self._cells(batch, name))
            if known is not None and all(watch.settled for watch in watches.values()):
                self.n_rows = known
                break
        if self.labels is not None:
            self.labels.check_any_normal()
        self.text_types = choose_orders({name: watch.fitting for name, watch in watches.items()})

    def _possible(self, name: str) -> tuple[ColumnType, ...]:
        return without_other_order(candidates(name, declared=self.rows.declares_types), self.day_first)

    def _stays_text(self, name: str) -> bool:
        """Whether the texts of a column are read as they are, by the type that was named for it."""
        named = COLUMN_TYPES.get(self.columns.get(name, ""))
        return named is not None and not isinstance(named, NumericType)

    def _texts(self) -> list[str]:
        fields = [self.rows.schema.field(at) for at in self.used]
        return [field.name for field in fields if is_text(field.type)]

    def batches(self) -> Iterator[pa.Table]:
        """The rows, typed; columns to be dropped are there in name only."""
        names = list(dict.fromkeys(self.rows.schema.names))
        for batch in self._normal_batches():
            cells = {self.rows.schema.names[at]: self._typed(batch, self.rows.schema.names[at]) for at in self.used}
            nothing = pa.nulls(batch.num_rows)
            yield pa.table({name: cells.get(name, nothing) for name in names})

    def _typed(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        cells = self._cells(batch, name)
        return self.text_types[name].from_csv(cells) if name in self.text_types else cells

    def _cells(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        column = batch.column(name)
        if not is_text(column.type):
            return as_single(column)
        return texts_of(column) if self.rows.declares_types else without_missing(texts_of(column))

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
        check_single(rows, encoder.schema_.names if encoder.named_ else names)
        first = {name: names.index(name) for name in names}
        self.places = [at for name, at in first.items() if name in known or not encoder.named_]
        self.ignored = [name for name in first if encoder.named_ and name not in {*known, *(encoder.columns or ())}]
        needed = encoder.schema_.names if encoder.named_ else names
        self._untyped = set() if rows.declares_types else set(needed)
        self._types = {name: one for name, one in encoder.column_types_.items() if name in self._untyped}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        return self.rows.batches()

    def shown(self, batch: pa.RecordBatch) -> pa.Table:
        """The cells as they stand in the file, for showing them."""
        return pa.table(self._columns(batch))

    def read(self, batch: pa.RecordBatch, first: int = 1) -> pa.Table:
        """The cells as the encoder takes them, for judging them; no cell's meaning hangs on its row's number."""
        columns = self._columns(batch)
        quick = {name: one.quick_csv(columns[name]) for name, one in self._types.items() if name in columns}
        return pa.table(columns | quick)

    def _columns(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        columns = {self.rows.schema.names[at]: as_single(batch.column(at)) for at in self.places}
        return columns | {name: without_missing(columns[name]) for name in self._untyped if name in columns}


def as_single(column: pa.Array) -> pa.Array:
    """A column whose cells are single values: nested ones become their JSON text."""
    return as_texts(column) if pat.is_nested(column.type) else column


def read_table(rows: RowFile) -> pa.Table:
    """All rows of a file as one table, each column of the type that its cells have."""
    found = NormalTableRows(rows)
    parts = list(found.batches())
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
