"""The half of a detector that takes feedback: alarms a person has judged fine do not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from maskdiff.codes import Codes, FloatArray
from maskdiff.detectors.dismissals import SAME_CELLS, Dismissal, Dismissals, check_scope
from maskdiff.detectors.dismissed_cells import ColumnCells, TokenCells
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.errors import InputError

if TYPE_CHECKING:
    from maskdiff.detectors.cell_alarms import CellVerdicts
    from maskdiff.detectors.verdicts import Verdicts


class Feedback:
    """Keeps the rules by which alarms are dismissed: `dismissals_`."""

    encoder_: Any
    dismissals_: Dismissals

    if TYPE_CHECKING:

        def judge(self, X: Any, false_alarm_rate: float | None = None) -> Verdicts: ...

        def cell_threshold(self, false_alarm_rate: float | None = None) -> float | None: ...

    def dismiss(self, X: Any, scope: str = SAME_CELLS) -> list[Dismissal]:
        """Let the alarms of these rows, judged fine, not come back, nor those of their like; the rules, one a row.

        A rule is made from a row's odd cells: those that add at least half as much to its score as the strongest one,
        and in tables those with a value never seen and those that raise an alarm by themselves. Alarms it is about are
        no alarms any more. Scores and p-values stay as they are, and alarms can only become fewer.

        scope="same cells": rows whose odd cells are the same, with the same values; of tokens, whose odd tokens are the
        same ones, wherever they stand. The other cells do not matter, as they are not odd.

        scope="same pattern": rows of a table that hold, in all columns of the rule, the same value, or for numbers and
        dates a value of the same bin or beyond the range on the same side, whether these cells are odd there or not;
        of tokens, rows whose odd tokens are all among the rule's. A row with an odd cell, or token, that the rule does
        not name is still an alarm.

        Numbers of rules are in `Verdicts.dismissed_by`, and `undo_dismissal` takes one back. Rules hold the values of
        the cells they name and are stored in the model file.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> rows = [["cat", "woof"], ["dog", "meow"]]
        >>> print(*detector.dismiss(rows[:1]))
        same cells: x0 = cat, x1 = woof
        >>> detector.is_anomaly(rows), detector.judge(rows).dismissed_by
        (array([False,  True]), array([1, 0]))
        >>> detector.undo_dismissal(1)
        >>> detector.is_anomaly(rows)
        array([ True,  True])
        """
        check_scope(scope)
        verdicts = self.judge(X)
        found = self._cells(X, verdicts.codes, verdicts.contributions, verdicts.cells).odd(scope)
        without = next((i for i, cells in enumerate(found) if not cells), None)
        if without is not None:
            raise InputError(f"row {verdicts.labels[without]} has no odd cell that a rule could name: leave it out.")
        rules, made = self.dismissals_, []
        for cells in found:
            rules, rule = rules.add(scope, cells)
            made.append(rule)
        self.dismissals_ = rules
        return made

    def undo_dismissal(self, number: int) -> None:
        """Take the rule with this number back: alarms it was about are alarms again."""
        check_is_fitted(self)
        self.dismissals_ = self.dismissals_.without(number)

    def _cells(
        self, X: Any, codes: Codes, contributions: FloatArray, cells: CellVerdicts | None
    ) -> ColumnCells | TokenCells:
        if isinstance(codes, TokenWindows):
            return TokenCells(codes, contributions)
        # At the detector's own rate, so that what a rule is about does not change with the rate rows are judged at.
        above = None if cells is None else self.cell_threshold()
        beyond = None if cells is None or above is None else cells.oddness - above
        return ColumnCells(X, codes, contributions, self.encoder_, beyond)

    def _rules_about(
        self, X: Any, codes: Codes, contributions: FloatArray, cells: CellVerdicts | None
    ) -> NDArray[np.int64] | None:
        """The number of the first rule that is about each row, 0 for none, shape (N,); None where there is no rule."""
        if not self.dismissals_:
            return None
        n_rows = codes.n_rows if isinstance(codes, TokenWindows) else len(codes)
        found = np.zeros(n_rows, dtype=np.int64)
        of_rows = self._cells(X, codes, contributions, cells)
        for rule in self.dismissals_.rules:
            found[(found == 0) & of_rows.fits(rule)] = rule.number
        return found
