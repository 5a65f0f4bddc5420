"""Cells of a table replaced by what codes stand for, in a copy of the table that is of the same library.

A cell is written as its column holds them: as a text, a truth value or a number. What the column's type cannot hold is
not written, and neither is what would be read as anything but the code.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.codes import BoolArray, IntArray
from maskdiff.encoders.table.column_types import Key
from maskdiff.encoders.table.input import read_table

# What libraries raise where a value is not one of a column's type.
_NOT_HELD = (ValueError, TypeError, OverflowError, NotImplementedError, pa.ArrowException)


class Copy:
    """A table to be changed; the one that was handed in stays as it is."""

    def __init__(self, X: Any) -> None:
        self.X = pa.Table.from_batches([X]) if isinstance(X, pa.RecordBatch) else X

    def with_cells(self, place: int, rows: IntArray, cells: Sequence[tuple[Key, str]]) -> Copy | None:
        """A copy whose column at this place holds these keys, or their texts; None where it cannot hold them."""
        column = read_table(self.X).raw[place]
        chosen = _as_held(column, cells)
        try:
            if isinstance(column, np.ndarray):
                return Copy(_array_with(self.X, place, rows, chosen))
            frame = nw.from_native(self.X, eager_only=True)
            return Copy(frame.with_columns(_series_with(column, rows, chosen)).to_native())
        except _NOT_HELD + _polars_errors(column):
            return None


def _as_held(column: Any, cells: Sequence[tuple[Key, str]]) -> list[Any]:
    """The cells as texts where the column holds texts, else as truth values or numbers."""
    present = column[column != None] if isinstance(column, np.ndarray) else column.drop_nulls()  # noqa: E711
    first = next(iter(present[:1].tolist() if isinstance(column, np.ndarray) else present.head(1).to_list()), "")
    if isinstance(first, str | bytes):
        return [text for _, text in cells]
    return [key == "True" if isinstance(first, bool | np.bool_) else key for key, _ in cells]


def _array_with(X: Any, place: int, rows: IntArray, values: list[Any]) -> Any:
    if isinstance(X, Sequence):
        lines = [copy.copy(line) if isinstance(line, np.ndarray) else list(line) for line in X]
        for row, value in zip(rows.tolist(), values, strict=True):
            lines[row][place] = value
        return lines
    array = np.array(X, subok=True)
    as_texts = array.dtype.kind in "US"
    array = array.astype(object) if as_texts else array
    kept = np.array(values, dtype=object).astype(array.dtype)
    if array.dtype.kind in "iu" and not np.array_equal(kept, np.array(values, dtype=float)):
        raise ValueError("not whole")
    array[rows, place] = kept
    return array.astype(str) if as_texts else array


def _series_with(series: Any, rows: IntArray, values: list[Any]) -> Any:
    native = series.to_native()
    if series.implementation.is_pandas():
        return nw.from_native(_pandas_with(native, rows, values), series_only=True)
    if series.implementation.is_pyarrow():
        return nw.from_native(_arrow_with(native, rows, values), series_only=True).alias(series.name)
    new = nw.new_series(series.name, values, series.dtype, backend=series.implementation)
    return series.scatter(rows.tolist(), new)


def _pandas_with(series: Any, rows: IntArray, values: list[Any]) -> Any:
    import pandas as pd

    changed = series.copy()
    if isinstance(changed.dtype, pd.CategoricalDtype):
        new = [value for value in dict.fromkeys(values) if value not in changed.cat.categories]
        changed = changed.cat.add_categories(new)
    changed.iloc[rows] = pd.array(values, dtype=changed.dtype)
    return changed


def _arrow_with(column: Any, rows: IntArray, values: list[Any]) -> Any:
    held, whole = column.type, column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    plain = held.value_type if pat.is_dictionary(held) else held
    mask, order = np.zeros(len(whole), dtype=np.bool_), np.argsort(rows)
    mask[rows] = True
    new = pa.array([values[at] for at in order]).cast(plain)
    changed = pc.replace_with_mask(whole.cast(plain), pa.array(mask), new)
    return pa.chunked_array([changed.dictionary_encode().cast(held) if plain is not held else changed])


def _polars_errors(column: Any) -> tuple[type[Exception], ...]:
    if isinstance(column, np.ndarray) or not column.implementation.is_polars():
        return ()
    from polars.exceptions import PolarsError

    return (PolarsError,)


Written = Callable[[Copy, IntArray], BoolArray]


def written_cells(
    table: Copy, place: int, rows: IntArray, cells: Sequence[tuple[Key, str]], reads: Written
) -> tuple[Copy, BoolArray]:
    """The table with those of these cells that `reads` finds right once they are there, and which these are."""
    changed = table.with_cells(place, rows, cells)
    none = np.zeros(len(rows), dtype=np.bool_)
    if changed is None:
        return table, none
    right = reads(changed, rows)
    if right.all():
        return changed, right
    some = table.with_cells(place, rows[right], [cell for cell, one in zip(cells, right, strict=True) if one])
    return (table, none) if some is None or not right.any() else (some, right)
