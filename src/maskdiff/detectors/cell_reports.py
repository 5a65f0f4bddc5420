"""The half of a table detector that reports single cells, whatever the rest of their rows looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, FloatArray
from maskdiff.detectors.labels import labelled
from maskdiff.errors import SettingError
from maskdiff.explanations.reported_cells import ReportedCells

if TYPE_CHECKING:
    from maskdiff.detectors.verdicts import Verdicts


class CellReports:
    """Lists the odd cells of a table."""

    encoder_: Any

    if TYPE_CHECKING:

        def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts: ...

        def expected_codes(self, codes: Codes, cells: Any) -> tuple[NDArray[np.int64], FloatArray]: ...

    def odd_cells(self, X: Any, false_discovery_rate: float = 0.1, *, verdicts: Verdicts | None = None) -> Any:
        """The cells of all rows that are odd for their columns, the oddest first, as a pandas DataFrame.

        On average at most `false_discovery_rate` of the cells reported are fine; those of rows that a rule dismisses,
        and those that hold what is likeliest, are left out afterwards. Columns: row (its place in X), column, value,
        oddness (how far the cell is beyond what is usual for its column, in standard deviations), p_value (how likely a
        cell of a normal row is to be as odd in that column), expected (the likeliest value given the rest of the row),
        expected_probability and note. A field computed from dates is named after their columns. The index is that of
        `explain`. Hand in what `judge(X)` returned to save scoring the rows again.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> cells = detector.odd_cells([["cat", "meow"]] * 20 + [["cat", "moo"]])
        >>> cells[["row", "column", "value", "expected"]].values.tolist()
        [[20, 'x1', 'moo', 'meow']]
        """
        verdicts = verdicts or self.judge(X)
        cells = reported_cells(verdicts, false_discovery_rate)
        return labelled(self.cell_table(X, verdicts.codes, cells), verdicts.labels)

    def cell_table(self, X: Any, codes: Codes, cells: ReportedCells) -> Any:
        """These cells of X, whose codes are given, as `odd_cells` lists them; labelled by the places of their rows."""
        expected, probability = self.expected_codes(codes, cells)
        # Beside a wrong cell others may be surprising, though they hold what is likeliest.
        other = expected != codes.values[cells.row, cells.field]
        cells, expected, probability = cells.take(other), expected[other], probability[other]
        values, notes = (texts(X, cells.row, cells.field) for texts in (self.encoder_.display, self.encoder_.notes))
        return cells.table(codes.schema, expected, probability, values, notes)


def reported_cells(verdicts: Verdicts, false_discovery_rate: float) -> ReportedCells:
    """The cells to report together, but those of rows that a rule dismisses."""
    if verdicts.cells is None:
        raise SettingError("these verdicts say nothing about single cells; hand in what judge(X) of a table returned.")
    chosen = verdicts.cells.select(false_discovery_rate) & verdicts.listed[:, None]
    return ReportedCells.of(chosen, verdicts.cells.oddness, verdicts.cells.p_value)
