"""Single cells that are reported because each is odd for its column, the oddest of a table first. N rows, F fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray, Schema


@dataclass(frozen=True, eq=False)
class ReportedCells:
    """Where the cells are, how odd each is and its p-value among those of its column; each array of shape (C,)."""

    row: NDArray[np.int64]
    field: NDArray[np.int64]
    oddness: FloatArray
    p_value: FloatArray

    @classmethod
    def of(cls, chosen: BoolArray, oddness: FloatArray, p_value: FloatArray) -> ReportedCells:
        """The chosen ones among all cells, (N, F), the oddest first.

        >>> oddness = np.array([[1.0, 7.0], [9.0, 2.0]])
        >>> ReportedCells.of(oddness > 5, oddness, 1 / oddness).row
        array([1, 0])
        """
        row, field = np.nonzero(chosen)
        order = np.argsort(-oddness[row, field], kind="stable")
        row, field = row[order], field[order]
        return cls(row, field, oddness[row, field], p_value[row, field])

    def take(self, cells: BoolArray) -> ReportedCells:
        """Only these cells."""
        return ReportedCells(self.row[cells], self.field[cells], self.oddness[cells], self.p_value[cells])

    def table(
        self,
        schema: Schema,
        expected: NDArray[np.int64],
        probability: FloatArray,
        values: Sequence[str],
        notes: Sequence[str],
    ) -> Any:
        """One line per cell as a pandas DataFrame: its own value, and what was expected there."""
        import pandas as pd

        return pd.DataFrame(
            {
                "row": self.row,
                "column": [schema.fields[j].name for j in self.field],
                "value": values,
                "oddness": self.oddness,
                "p_value": self.p_value,
                "expected": [schema.fields[j].label(int(code)) for j, code in zip(self.field, expected, strict=True)],
                "expected_probability": probability,
                "note": notes,
            }
        )
