"""The half of a table detector that reports single cells, whatever the rest of their rows looks like."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, FloatArray
from maskdiff.detectors.cell_repairs import CellRepairs, Repair, with_codes
from maskdiff.detectors.finding import found_cells
from maskdiff.detectors.labels import labelled
from maskdiff.errors import SettingError
from maskdiff.explanations import CellPlaces, MeantValues, Places
from maskdiff.explanations.reported_cells import ReportedCells

if TYPE_CHECKING:
    from maskdiff.detectors.finding.cross_fit import CrossFit
    from maskdiff.detectors.verdicts import Verdicts


class CellReports:
    """Lists the odd cells of a table, and suggests what should be there."""

    encoder_: Any

    if TYPE_CHECKING:

        def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts: ...

        def expected_codes(self, codes: Codes, cells: Any) -> tuple[NDArray[np.int64], FloatArray]: ...

        def own_probability(self, codes: Codes, cells: Any) -> FloatArray: ...

        def _shown_values(
            self, X: Any, row: NDArray[np.int64], place: NDArray[np.int64], codes: Codes
        ) -> list[str]: ...

    def odd_cells(self, X: Any, false_discovery_rate: float = 0.1, *, verdicts: Verdicts | None = None) -> Any:
        """The cells of all rows that are odd for their columns, the oddest first, as a pandas DataFrame.

        On average at most `false_discovery_rate` of the cells reported are fine; those of rows that a rule dismisses,
        and those that hold what is likeliest, are left out afterwards. Columns: row (its place in X), column, value,
        oddness (how far the cell is beyond what is usual for its value and its column, in standard deviations), p_value
        (how likely a cell of a normal row is to be as odd in that column), expected (what should be there: see
        `suggested_codes`), expected_probability and note. A field computed from dates is named after their columns. The
        index is that of `explain`. Hand in what `judge(X)` returned to save scoring the rows again.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> cells = detector.odd_cells([["cat", "meow"]] * 20 + [["cat", "moo"]])
        >>> cells[["row", "column", "value", "expected"]].values.tolist()
        [[20, 'x1', 'moo', 'meow']]
        """
        verdicts = verdicts or self.judge(X)
        cells, judges = reported_cells(verdicts, false_discovery_rate)
        if judges is None:
            table = self.cell_table(X, verdicts.codes, cells)
        else:
            table = found_cells.cell_table(judges, X, cells, verdicts.codes.schema)
        return labelled(table, verdicts.labels)

    def repair(
        self, X: Any, false_discovery_rate: float = 0.1, *, at_least: float = 0.5, verdicts: Verdicts | None = None
    ) -> Repair:
        """A copy of X in which each odd cell holds the likeliest value instead, and the list of all odd cells.

        X itself stays as it is. A cell is changed if the expected value has a probability of `at_least`, given the rest
        of its row, and its own text where that is one character away from known values. The oddest cell of a row comes
        first; the others are then looked at again, and stay if they fit what was changed. Where no single value is
        expected the cell stays as it is: in a column of numbers or dates an interval is, a missing value may be, or one
        of many rare ones; a field computed from dates does not say which of them is wrong.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> repair = detector.repair([["cat", "meow"]] * 20 + [["cat", "moo"]])
        >>> repair.rows[-1], repair.changes["changed"].tolist()
        (['cat', 'meow'], [True])
        """
        verdicts = verdicts or self.judge(X)
        cells, judges = reported_cells(verdicts, false_discovery_rate)
        if judges is None:
            repair = self.repair_cells(X, verdicts.codes, cells, at_least)
        else:
            repair = found_cells.repair_cells(judges, X, cells, verdicts.codes.schema, at_least)
        return replace(repair, changes=labelled(repair.changes, verdicts.labels))

    def cell_table(self, X: Any, codes: Codes, cells: ReportedCells) -> Any:
        """These cells of X, whose codes are given, as `odd_cells` lists them; labelled by the places of their rows."""
        return self._listed(X, codes, *self._unexpected(X, codes, cells))

    def repair_cells(self, X: Any, codes: Codes, cells: ReportedCells, at_least: float) -> Repair:
        """X, whose codes are given, with these cells repaired as far as they can be, and the list of them."""
        if not 0 <= at_least <= 1:
            raise SettingError(f"at_least, a probability, must lie between 0 and 1; got {at_least}.")
        repairs = CellRepairs(*self._unexpected(X, codes, cells), at_least)
        fixed = repairs.apply(X, codes, self.encoder_, partial(self.suggested_codes, X), self.own_probability)
        table = self._listed(X, codes, repairs.cells, repairs.expected, repairs.probability)
        return Repair(fixed, table.assign(changed=repairs.changed, kept_because=repairs.kept_because(self.encoder_)))

    def suggested_codes(self, X: Any, codes: Codes, cells: CellPlaces) -> tuple[NDArray[np.int64], FloatArray]:
        """The code that should be in each of these cells of X, whose codes are given, and its probability.

        It is the likeliest given the rest of the row. Where the text of a cell looks like known values, it is the
        likeliest of those, unless none of them fits the rest of the row.
        """
        expected, probability = self.expected_codes(codes, cells)
        meant = MeantValues.of(self.encoder_.meant(X, cells.row, cells.field))
        if not len(meant.cell):
            return expected, probability
        one_each, field = np.arange(len(meant.cell)), cells.field[meant.cell]
        rows = with_codes(codes.take(cells.row[meant.cell]), one_each, field, meant.code)
        return meant.chosen(expected, probability, self.own_probability(rows, Places(one_each, field)))

    def _unexpected(
        self, X: Any, codes: Codes, cells: ReportedCells
    ) -> tuple[ReportedCells, NDArray[np.int64], FloatArray]:
        """The cells that hold something else than what should be there, the code of that and its probability."""
        expected, probability = self.suggested_codes(X, codes, cells)
        # Beside a wrong cell others may be surprising, though they hold what is likeliest. Texts all have one code.
        other = expected != codes.values[cells.row, cells.field]
        other |= np.isin(cells.field, list(codes.texts or ()))
        return cells.take(other), expected[other], probability[other]

    def _listed(
        self, X: Any, codes: Codes, cells: ReportedCells, expected: NDArray[np.int64], probability: FloatArray
    ) -> Any:
        values = self._shown_values(X, cells.row, cells.field, codes)
        notes = self.encoder_.notes(X, cells.row, cells.field)
        return cells.table(codes.schema, expected, probability, values, notes)


def reported_cells(verdicts: Verdicts, false_discovery_rate: float) -> tuple[ReportedCells, CrossFit | None]:
    """The cells to report together, except those of rows that a rule dismisses, and the models that judged them."""
    if verdicts.cells is None:
        raise SettingError("these verdicts say nothing about single cells; hand in what judge(X) of a table returned.")
    chosen = verdicts.cells.select(false_discovery_rate) & verdicts.listed[:, None]
    return ReportedCells.of(chosen, verdicts.cells.oddness, verdicts.cells.p_value), verdicts.cells.judges
