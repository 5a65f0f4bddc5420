"""Between files and detectors of token rows: one column of a file that holds a text or a list of symbols per row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.base import Encoder
from maskdiff.encoders.tokens.input import TokenRows
from maskdiff.errors import UnknownColumnError
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.labels import Labels, warn_of_unlabelled
from maskdiff.jobs.rows.table import place_of
from maskdiff.progress import Callback, Progress

# A row counts for so many characters even where it is empty.
_CHARACTERS_OF_A_ROW = 16


class NormalTokenRows:
    """The rows of a file to learn from, out of one column. Constructing it reads the file; the texts are held."""

    def __init__(
        self, rows: RowFile, column: str, labels: Labels | None = None, callback: Callback | None = None
    ) -> None:
        self.rows = rows
        needed = {place_of(rows, column), *([place_of(rows, labels.column)] if labels else [])}
        values, numbers, done = list[Any](), [np.empty(0, np.int64)], 0
        for batch in rows.batches(sorted(needed)):
            chosen = np.arange(batch.num_rows)
            if labels is not None:
                chosen = chosen[labels.is_normal(batch.column(labels.column))]
            values += cells_of(batch.column(column).take(pa.array(chosen)))
            numbers.append(done + 1 + chosen)
            done += batch.num_rows
            if callback is not None:
                callback(Progress("reading", done, rows.n_rows or 0))
        if labels is not None:
            labels.check_any_normal()
            warn_of_unlabelled(rows.name, labels.column, labels.n_unlabelled)
        self.token_rows = TokenRows(values, np.concatenate(numbers), named=True)
        self.n_rows = self.token_rows.n_rows

    def batches(self) -> Iterator[TokenRows]:
        """The rows, all at once."""
        yield self.token_rows


class ModelTokenRows:
    """The column a fitted encoder knows, out of the batches of a file; the other columns only stand beside it."""

    def __init__(self, rows: RowFile, encoder: Encoder) -> None:
        self.rows = rows
        self.ignored: list[str] = []
        names = dict.fromkeys(rows.schema.names)
        self.column = str(encoder.feature_names_in_[0]) if encoder.named_ else next(iter(names))
        if not encoder.named_ and len(names) > 1:
            raise UnknownColumnError(
                f"{rows.name} has {len(names)} columns, and the model was fitted on rows without a name. "
                "Hand over the one column that holds them, or fit with column=NAME."
            )
        self.place = place_of(rows, self.column)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file, few at once where they are long."""
        for batch in self.rows.batches():
            at = 0
            for until in _cuts(batch.column(self.place), self.rows.reading.characters_at_once):
                yield batch.slice(at, until - at)
                at = until

    def shown(self, batch: pa.RecordBatch) -> pa.Table:
        """The rows as they stand in the file; of columns with the same name the first."""
        first = {name: at for at, name in reversed(list(enumerate(batch.schema.names)))}
        cells = {name: batch.column(at) for name, at in sorted(first.items(), key=lambda item: item[1])}
        return pa.table(cells | {self.column: batch.column(self.place)})

    def read(self, batch: pa.RecordBatch, first: int = 1) -> TokenRows:
        """The cells to judge; the first row has this number in the file."""
        return TokenRows(cells_of(batch.column(self.place)), first + np.arange(batch.num_rows), named=True)


def _cuts(cells: pa.Array, characters: int) -> list[int]:
    """Where to cut a batch, each time after about so many characters; the last cut is its end."""
    if not len(cells):
        return []
    lengths = pc.binary_length(as_texts(cells)).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    part = np.cumsum(lengths + _CHARACTERS_OF_A_ROW) // characters
    return [*(np.flatnonzero(np.diff(part)) + 1).tolist(), len(cells)]


def cells_of(column: pa.Array) -> list[Any]:
    """Each cell as it is judged: a text, or a list of symbols."""
    if pat.is_list(column.type) or pat.is_large_list(column.type):
        return list(column.to_pylist())
    return list(as_texts(column).to_pylist())
