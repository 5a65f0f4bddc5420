"""Between files and detectors: the rows to learn from, and the rows to judge, as a fitted model reads them."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.types as pat

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.encoder_settings import DROP
from maskdiff.errors import ReadingWarning, UnknownColumnError
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.labels import Labels, warn_of_unlabelled
from maskdiff.progress import Callback, Progress

_TOTAL = re.compile(r"(?i)(grand |sub)?totals?\b|sum\b|summen?\b|gesamt|insgesamt|totaux\b|totale?s?\b|somme\b|suma\b")


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
        left_out = nameless(rows)
        self.used = [at for at, name in enumerate(names) if self.columns.get(name) != DROP and at not in left_out]
        self.names = dict.fromkeys(name for at, name in enumerate(names) if at not in left_out)
        check_single(rows, [names[at] for at in self.used])
        self.needed = sorted({*self.used, *([place_of(rows, labels.column)] if labels else [])})
        self.n_rows = rows.n_rows if labels is None else None
        self.all_seen = False

    def batches(self) -> Iterator[pa.Table]:
        """The rows; columns to be dropped are there in name only."""
        n_rows, last = 0, None
        if self.labels is not None:
            self.labels.n_unlabelled = 0
        for batch in self._normal_batches():
            last = batch.slice(batch.num_rows - 1) if batch.num_rows else last
            n_rows += batch.num_rows
            yield self._as_table(batch)
        if self.labels is not None:
            self.labels.check_any_normal()
            if not self.all_seen:
                warn_of_unlabelled(self.rows.name, self.labels.column, self.labels.n_unlabelled)
        if last is not None and not self.all_seen:
            warn_of_total(last, self.rows.name)
        self.n_rows, self.all_seen = n_rows, True

    def _as_table(self, batch: pa.RecordBatch) -> pa.Table:
        file_names, nothing = self.rows.schema.names, pa.nulls(batch.num_rows)
        cells = {file_names[at]: as_single(batch.column(file_names[at])) for at in self.used}
        return pa.table({name: cells.get(name, nothing) for name in self.names})

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
        self.ignored = [name for name in first if encoder.named_ and name not in {"", *known, *(encoder.columns or ())}]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file."""
        return self.rows.batches()

    def shown(self, batch: pa.RecordBatch) -> pa.Table:
        """The cells as they stand in the file, for showing them."""
        return pa.table({self.rows.schema.names[at]: as_single(batch.column(at)) for at in self.places})

    def read(self, batch: pa.RecordBatch, first: int = 1) -> pa.Table:
        """The cells as the encoder takes them, for judging them; no cell's meaning hangs on its row's number."""
        return self.shown(batch)


def nameless(rows: RowFile) -> list[int]:
    """Columns that share the empty name, and so cannot be told apart; a warning says that they are left out."""
    found = [at for at, name in enumerate(rows.schema.names) if not name.strip()]
    if len(found) < 2:
        return []
    places = ", ".join(str(at + 1) for at in found)
    warnings.warn(ReadingWarning(f"{rows.name}: columns without a name left out: {places}."), stacklevel=2)
    return found


def warn_of_total(last: pa.RecordBatch, name: str) -> None:
    """A warning if the last row adds up the others: it says "total", and most of its cells are empty."""
    cells = [str(cell).strip() for cell in last.to_pylist()[0].values() if cell is not None and str(cell).strip()]
    if 2 * len(cells) <= last.num_columns and any(_TOTAL.match(cell) for cell in cells):
        warnings.warn(
            ReadingWarning(
                f"{name}: the last row looks like a total ({', '.join(cells[:4])}), and is learned from like the "
                "others. If it is one, take it out."
            ),
            stacklevel=2,
        )


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
