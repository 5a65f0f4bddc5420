"""How the columns of a file would be read, before anything is learned from it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import EmptyTableError, MaskdiffWarning
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.formats import open_rows
from maskdiff.io.rows import ReadOptions
from maskdiff.jobs.rows.table import NormalTableRows

# The rows that are looked at, and the different values that are shown of each column.
MOST_ROWS, _EXAMPLES = 5000, 5


@dataclass(frozen=True)
class FilePreview:
    """The columns as `TableEncoder.summary` describes them, each with some `values`; `notes` about the reading.

    `rows` is the number of rows of the file, None where only reading on would tell; `looked_at` is how many were read.
    """

    columns: list[dict[str, Any]]
    rows: int | None
    looked_at: int
    notes: list[str] = field(default_factory=list)


def preview_file(
    rows: str, *, columns: Mapping[str, str] | None = None, reading: ReadOptions | None = None
) -> FilePreview:
    """How each column of a file would be read by its first rows; `columns` are as in `TableDetector`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("pet,age\\n" + "cat,3\\ndog,2.5\\n" * 20)
    ...     found = preview_file(str(path))
    >>> [(column["name"], column["type"], column["values"]) for column in found.columns]
    [('pet', 'category', ['cat', 'dog']), ('age', 'category', ['3', '2.5'])]
    """
    with open_rows(rows, reading) as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MaskdiffWarning)
        normal = NormalTableRows(file, columns)
        table = _first(normal)
        encoder = TableEncoder(columns=dict(columns or {}) or None).fit(table)
        values = {name: _examples(table.column(name)) for name in table.column_names}
        found = [column | {"values": values.get(column["name"], [])} for column in encoder.summary()]
        notes = [str(one.message) for one in caught if isinstance(one.message, MaskdiffWarning)]
        n_rows = file.n_rows if file.n_rows is not None else (len(table) if len(table) < MOST_ROWS else None)
    return FilePreview(found, n_rows, len(table), list(dict.fromkeys(notes)))


def _first(rows: NormalTableRows) -> pa.Table:
    parts, taken = [], 0
    for part in islice(rows.batches(), MOST_ROWS):
        parts.append(part.slice(0, MOST_ROWS - taken))
        taken += len(parts[-1])
        if taken >= MOST_ROWS:
            break
    if not taken:
        raise EmptyTableError(f"{rows.rows.name} holds no rows.")
    return pa.concat_tables(parts, promote_options="permissive")


def _examples(column: pa.ChunkedArray) -> list[str]:
    texts = pc.unique(as_texts(column.combine_chunks()).drop_null())
    return [str(text)[:80] for text in texts[:_EXAMPLES].to_pylist()]
