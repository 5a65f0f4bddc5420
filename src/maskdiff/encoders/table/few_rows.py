"""A few rows as plain cells, without reading their columns; see `cell_memory`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, overload

import narwhals.stable.v2 as nw
import numpy as np

# Tables of more rows are read column by column.
MOST_ROWS = 8

# What a column declares about its cells, None for what is not known here, and the cells.
DeclaredCells = tuple[Hashable | None, Sequence[Any]]


class PandasColumns(Sequence[Any]):
    """The columns of a DataFrame of few rows, made when they are needed: that takes longer than to look them up."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return int(self.frame.shape[1])

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        return nw.from_native(self.frame.iloc[:, place], series_only=True)

    def declared_cells(self, place: int) -> DeclaredCells:
        """The cells of one column, all columns taken apart at once."""
        array = self._arrays[place]
        # An array of pandas takes longer to make a list of one cell than to give that cell.
        cells = array.tolist() if isinstance(array, np.ndarray) else [array[row] for row in range(len(array))]
        return _declared(array.dtype), cells

    @cached_property
    def _arrays(self) -> list[Any]:
        # What pandas itself goes through its columns with. To make a Series of each takes ten times as long.
        arrays = getattr(self.frame, "_iter_column_arrays", None)
        return [column.array for _, column in self.frame.items()] if arrays is None else list(arrays())


def declared_cells(columns: Sequence[Any], place: int) -> DeclaredCells:
    """The cells of the column at this place."""
    if isinstance(columns, PandasColumns):
        return columns.declared_cells(place)
    raw = columns[place]
    native: Any = raw if isinstance(raw, np.ndarray) else raw.to_native()
    if hasattr(native, "to_pylist"):  # arrow
        return native.type, native.to_pylist()
    declared = _declared(getattr(native, "dtype", None))
    cells = native.tolist() if isinstance(declared, np.dtype) else raw.to_list()
    return declared, cells


def _declared(dtype: Any) -> Hashable | None:
    if dtype is None or isinstance(dtype, np.dtype):
        return dtype
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return str(dtype)
    return "categories" if getattr(categories, "inferred_type", None) == "string" else None
