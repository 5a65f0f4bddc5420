"""Rows that come as Python values, cell by cell: a column's type is decided over all rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

import pyarrow as pa

from maskdiff.io.rows import ReadOptions, SkippedLines, only

_MOMENT = pa.timestamp("us")
_HOLDS: dict[frozenset[str], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset({"boolean"}): pa.bool_(),
    frozenset({"integer"}): pa.int64(),
    frozenset({"number"}): pa.float64(),
    frozenset({"integer", "number"}): pa.float64(),
    frozenset({"date"}): pa.date32(),
    frozenset({"moment"}): _MOMENT,
    frozenset({"date", "moment"}): _MOMENT,
}


class CellRows(ABC):
    """The rows of a source that hands out lists of Python values; None is a missing cell.

    A number without decimals is an integer where all of its column are, as spreadsheets know no integers.
    """

    def __init__(self, name: str, names: Sequence[str], reading: ReadOptions) -> None:
        self.name, self.reading, self.skipped = name, reading, SkippedLines()
        found: list[set[str]] = [set() for _ in names]
        self.n_rows: int | None = 0
        for row in self.cells():
            self.n_rows += 1
            for types, cell in zip(found, row, strict=True):
                if cell is not None:
                    types.add(_type_name(cell))
        held = [_HOLDS.get(frozenset(types), pa.string()) for types in found]
        self.schema = pa.schema(list(zip(names, held, strict=True)))

    @abstractmethod
    def cells(self) -> Iterator[Sequence[Any]]:
        """The cells of each row, from the first row on."""

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        rows = self.cells()
        while part := list(islice(rows, self.reading.batch_rows(len(self.schema)))):
            cells = zip(*part, strict=True)
            arrays = [_array(column, field.type) for column, field in zip(cells, self.schema, strict=True)]
            yield only(pa.RecordBatch.from_arrays(arrays, schema=self.schema), columns)


def _type_name(cell: Any) -> str:
    if isinstance(cell, bool):
        return "boolean"
    if isinstance(cell, int):
        return "integer" if -(2**63) <= cell < 2**63 else "text"
    if isinstance(cell, float | Decimal):
        return "integer" if abs(float(cell)) < 2**53 and cell == int(cell) else "number"
    if isinstance(cell, datetime):
        return "moment"
    return "date" if isinstance(cell, date) else "text"


def _array(cells: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    convert = _CONVERT.get(data_type)
    if convert is not None:
        cells = [None if cell is None else convert(cell) for cell in cells]
    return pa.array(cells, data_type)


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "backslashreplace")
    if isinstance(cell, float) and _type_name(cell) == "integer":
        return str(int(cell))
    return str(cell)


def _moment(cell: date) -> datetime:
    if not isinstance(cell, datetime):
        return datetime(cell.year, cell.month, cell.day)
    return cell.replace(tzinfo=None) - (cell.utcoffset() or cell - cell)


_CONVERT: dict[pa.DataType, Callable[[Any], Any]] = {
    pa.string(): _text,
    pa.int64(): int,
    pa.float64(): float,
    _MOMENT: _moment,
}
