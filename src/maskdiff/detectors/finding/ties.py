"""Which rows belong together, from columns of a table or values given for each row."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskdiff.codes.hashes import Hashes
from maskdiff.detectors.finding.ordering import orderable, warn_of_unordered
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import Table, listed, read_table
from maskdiff.encoders.table.recognition import typed
from maskdiff.errors import InputError, UnknownColumnError

if TYPE_CHECKING:
    from collections.abc import Iterable


def group_keys(values: Any, n_rows: int) -> Hashes:
    """One number for each group, shape (N,); rows without a group are groups of their own."""
    array = _as_array(values, n_rows, "group").dictionary_encode()
    index = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    alone = len(array.dictionary) + np.arange(n_rows)
    return np.where(index < 0, alone, index).astype(np.uint64)


def time_ranks(values: Any, n_rows: int) -> NDArray[np.int64]:
    """The place of each row in time, shape (N,); equal times in the order of the rows, missing ones last."""
    given = _as_array(values, n_rows, "order")
    array = orderable(given)
    warn_of_unordered(given, array)
    order = pc.array_sort_indices(array, null_placement="at_end").to_numpy()
    rank = np.empty(n_rows, np.int64)
    rank[order] = np.arange(n_rows)
    return rank


def value_keys(values: Iterable[Any]) -> Hashes:
    """One number for each value, equal for equal ones, shape (N,)."""
    digests = (hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=8) for value in values)
    return np.array([int.from_bytes(digest.digest(), "little") for digest in digests], np.uint64)


def column_values(X: Any, name: str) -> pa.Array:
    """The values of a column, its texts as the numbers or dates they stand for."""
    table = read_table(X)
    if name not in table.names:
        raise UnknownColumnError(f"there is no column {name!r}; the table has {listed(table.names)}.")
    place = table.names.index(name)
    alone = Table([name], [table.raw[place]], table.n_rows, rows=table.rows)
    recognition = TableEncoder().recognition()
    recognition.add(alone)
    found, column = recognition.found(), alone.column(0)
    return typed(column, found[name].column_type).array if name in found else column.array


def _as_array(values: Any, n_rows: int, setting: str) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.array(np.asarray(values), from_pandas=True)
    if len(array) != n_rows:
        raise InputError(f"{setting} must give one value for each of the {n_rows:,} rows; got {len(array):,}.")
    return array
