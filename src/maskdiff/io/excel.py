"""Workbooks of Excel and LibreOffice: one sheet, from its header row on. Cells keep their types, errors are missing."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

from maskdiff.errors import EmptyTableError, InputError, ReadingWarning, SettingError
from maskdiff.io.base import Format
from maskdiff.io.cell_rows import CellRows
from maskdiff.io.header import looks_like_data
from maskdiff.io.rows import ReadOptions
from maskdiff.io.streams import ByteSource

# How far down a header is looked for, and how full its row is compared with the fullest one there.
_LOOK = 50
_FULL = 0.8


class ExcelRows(CellRows):
    """The rows of one sheet below its header; rows above it, those that repeat it, and empty ones are left out."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.sheet = _sheet(source, reading)
        name = f"{source.name}, sheet {self.sheet.name!r}"
        rows = [list(map(_cell, row)) for row in islice(self.sheet.iter_rows(), _LOOK)]
        if not any(any(cell is not None for cell in row) for row in rows):
            raise EmptyTableError(f"{name} is empty.")
        above = _header_row(rows)
        header = self._has_header(rows[above:], name) if reading.header is None else reading.header
        width = max(at + 1 for row in rows for at, cell in enumerate(row) if cell is not None)
        self.width = max(width, _last_column(self.sheet, above))
        self.first = above + int(header)
        titles = sum(any(cell is not None for cell in row) for row in rows[:above])
        if titles:
            _warn(f"{name}: rows above the header left out: {titles}.")
        names = [*rows[above], *[None] * self.width][: self.width]
        self.header = names if header else None
        repeated = sum(cells == self.header for cells in self._filled())
        if repeated:
            _warn(f"{name}: rows that repeat the names of the columns left out: {repeated}.")
        super().__init__(name, [_name(cell, at, header) for at, cell in enumerate(names)], reading)

    def _has_header(self, rows: list[list[Any]], name: str) -> bool:
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
        if not looks_like_data(texts[0], texts[1:]):
            return True
        _warn(f"{name}: the first row looks like data; the columns are named column_1, column_2, ...", "header")
        return False

    def cells(self) -> Iterator[list[Any]]:
        return (cells for cells in self._filled() if cells != self.header)

    def _filled(self) -> Iterator[list[Any]]:
        """The rows below the header that hold anything."""
        for row in islice(self.sheet.iter_rows(), self.first, None):
            cells = [_cell(cell) for cell in row[: self.width]]
            if any(cell is not None for cell in cells):
                yield cells


def _sheet(source: ByteSource, reading: ReadOptions) -> Any:
    try:
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError
    except ImportError as error:
        raise InputError("workbooks are read with python-calamine: pip install python-calamine") from error
    try:
        book = CalamineWorkbook.from_path(source.checked_path())
    except PasswordError as error:
        raise InputError(f"{source.name} needs a password. Save a copy without one.") from error
    except CalamineError as error:
        raise InputError(f"{source.name} is not a workbook, or is damaged ({error}).") from error
    wanted = reading.sheet or book.sheet_names[0]
    if wanted not in book.sheet_names:
        there = ", ".join(map(repr, book.sheet_names))
        raise SettingError(f"{source.name} has no sheet {wanted!r}; it has {there}.", setting="sheet")
    if reading.sheet is None and len(book.sheet_names) > 1:
        _warn(f"{source.name} has {len(book.sheet_names)} sheets; the first, {wanted!r}, is read.", "sheet")
    return book.get_sheet_by_name(wanted)


def _warn(message: str, setting: str | None = None) -> None:
    warnings.warn(ReadingWarning(message, setting=setting), stacklevel=2)


def _header_row(rows: list[list[Any]]) -> int:
    """The first row that is about as full as the fullest: titles above a table fill a cell or two."""
    full = [sum(cell is not None for cell in row) for row in rows]
    return next(at for at, number in enumerate(full) if number >= _FULL * max(full))


def _last_column(sheet: Any, above: int) -> int:
    """The last column that holds a cell in any row."""
    rows = islice(sheet.iter_rows(), above, None)
    return max((at + 1 for row in rows for at, cell in enumerate(row) if _cell(cell) is not None), default=0)


def _cell(cell: Any) -> Any:
    return None if cell == "" else cell


def _name(cell: Any, at: int, header: bool) -> str:
    if not header:
        return f"column_{at + 1}"
    return "" if cell is None else str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


FORMAT = Format((".xlsx", ".xls", ".ods", ".xlsm", ".xlsb"), ExcelRows)
