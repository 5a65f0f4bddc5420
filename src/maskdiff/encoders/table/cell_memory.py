"""Codes of single cells, remembered: a few rows are looked up cell by cell.

To read a column takes as long for one cell as for a thousand. A cell's code depends on that cell alone, so a cell that
was read before, in a column of the same declared type, has the code it had then.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskdiff.codes import FloatArray, IntArray
from maskdiff.encoders.table.codings import Bins
from maskdiff.encoders.table.column_coder import ColumnCoder
from maskdiff.encoders.table.column_types.numbers import NumberType

# So many cells of a column are remembered; then all are forgotten.
_MOST_CELLS = 4096
_PLAIN_NUMBERS = (np.dtype(np.float64), np.dtype(np.int64))

# A code, and what the cell costs more for being beyond the range.
CodedCell = tuple[int, float]


@dataclass(frozen=True, eq=False)
class CellMemory:
    """The cells of one column that were read before; plain numbers of a column in bins are coded at once."""

    coder: ColumnCoder
    reads_numbers: bool
    cells: dict[Hashable, CodedCell] = field(default_factory=dict)

    @classmethod
    def of(cls, coder: ColumnCoder, *, missing_numbers: bool) -> CellMemory:
        """Of no cells yet. `missing_numbers`: some numbers may mean a missing value."""
        in_bins = isinstance(coder.coding, Bins) and isinstance(coder.column_type, NumberType)
        return cls(coder, in_bins and not missing_numbers and not coder.marks)

    def look_up(self, declared: Hashable, cells: Sequence[Any]) -> list[CodedCell] | None:
        """The codes of the cells of a column that declares this about them; None where one has to be read first."""
        if declared is None:
            return None
        if self.reads_numbers and declared in _PLAIN_NUMBERS:
            return [self._coded_number(cell) for cell in cells]
        try:
            return [self.cells[_key(declared, cell)] for cell in cells]
        except (KeyError, TypeError):
            return None

    def remember(self, declared: Hashable, cells: Sequence[Any], codes: IntArray, excess: FloatArray | None) -> None:
        """What was found by reading the cells of such a column."""
        if declared is None:
            return
        if len(self.cells) > _MOST_CELLS:
            self.cells.clear()
        more = np.zeros(len(codes)) if excess is None else excess
        for cell, code, beyond in zip(cells, codes.tolist(), more.tolist(), strict=True):
            try:
                self.cells[_key(declared, cell)] = code, beyond
            except TypeError:  # it cannot be compared, so it is read each time
                continue

    def _coded_number(self, number: float) -> CodedCell:
        coding, unseen = self.coder.coding, self.coder.field.size
        assert isinstance(coding, Bins)
        if number != number:
            return unseen - self.coder.has_missing, 0.0
        given = np.array([number], dtype=np.float64)
        code = int(coding.codes_of_numbers(given, unseen)[0])
        beyond = code == unseen and coding.range is not None
        return code, float(coding.range.excess(given)[0]) if beyond and coding.range is not None else 0.0


def _key(declared: Hashable, cell: Any) -> Hashable:
    """True, 1 and 1.0 are equal, hence the types; NaN is not even equal to itself."""
    return declared, type(cell), None if isinstance(cell, float) and cell != cell else cell
