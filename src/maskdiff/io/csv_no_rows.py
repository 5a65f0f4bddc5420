"""Lines of a CSV file that have cells and are no rows: the header once more, as in files put together, or no value."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc


def are_cells(batch: pa.RecordBatch, cells: Sequence[str]) -> pa.Array | None:
    """Which rows of texts hold these cells, but for blanks around them; an empty one is missing. None: no row does.

    >>> batch = pa.RecordBatch.from_pydict({"a": ["a ", "1", None], "b": ["b", "2", None]})
    >>> are_cells(batch, ["a", "b"]).to_pylist(), are_cells(batch, ["", ""]).to_pylist()
    ([True, False, False], [False, False, True])
    """
    found = None
    for column, cell in zip(batch.columns, cells, strict=True):
        # Files put together may each begin with a byte-order mark.
        same = pc.equal(pc.utf8_trim_whitespace(pc.utf8_ltrim(column.fill_null(""), "\ufeff")), cell)
        found = same if found is None else pc.and_(found, same)
        if not pc.any(found).as_py():
            return None
    return found


def without_cells(batch: pa.RecordBatch, cells: Sequence[str]) -> pa.RecordBatch:
    """The other rows. In a file of one column nothing is left out: there any text may be a row."""
    found = are_cells(batch, cells) if batch.num_columns > 1 else None
    return batch if found is None else batch.filter(pc.invert(found))
