"""Putting likely values in place of odd cells, the oddest cell of each row first.

One wrong cell makes those odd that it contradicts: currency = GBP contradicts country = DE, and each suggests to change
the other. Once the oddest is changed, the others are looked at again, and stay where they fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, FloatArray, IntArray
from maskdiff.encoders.table.column_coder import CodeMeaning
from maskdiff.explanations.reported_cells import ReportedCells

# The code expected in each of these cells given the rest of its row, and its probability.
Expect = Callable[[Codes, ReportedCells], tuple[NDArray[np.int64], FloatArray]]
# The probability of the code that is in each of these cells, given the rest of its row.
OwnProbability = Callable[[Codes, ReportedCells], FloatArray]
# A cell fits unless the expected value is so many times as likely as its own.
_TIMES_AS_LIKELY = 10.0


@dataclass(frozen=True, eq=False)
class Repair:
    """A table with cells repaired: `rows` is the copy, `changes` a pandas DataFrame with a line for each odd cell.

    The lines are those of `odd_cells`, and behind them `changed` and `kept_because`: why a cell was left as it is.
    """

    rows: Any
    changes: Any

    @property
    def n_changed(self) -> int:
        """How many cells hold another value now."""
        return int(self.changes["changed"].sum())


class CellRepairs:
    """What becomes of C odd cells of a table: what is expected in each, whether it was changed, whether it fits now."""

    def __init__(
        self, cells: ReportedCells, expected: NDArray[np.int64], probability: FloatArray, at_least: float
    ) -> None:
        self.cells, self.at_least = cells, at_least
        self.expected, self.probability = expected.copy(), probability.copy()
        self.changed, self.fits = (np.zeros(len(expected), dtype=np.bool_) for _ in range(2))

    def apply(self, X: Any, codes: Codes, encoder: Any, expect: Expect, own: OwnProbability) -> Any:
        """A copy of X, whose codes are given, with the cells changed, one of each row at a time."""
        turn = _turns(self.cells)
        for number in range(int(turn.max(initial=-1)) + 1):
            here: IntArray = np.flatnonzero(turn == number)
            if number:
                here = self._look_again(here, codes, expect, own)
            here = here[self.probability[here] >= self.at_least]
            row, field, new = self.cells.row[here], self.cells.field[here], self.expected[here]
            X, written = encoder.replaced(X, row, field, new)
            self.changed[here] = written
            codes = with_codes(codes, row[written], field[written], new[written])
        return X

    def _look_again(self, here: IntArray, codes: Codes, expect: Expect, own: OwnProbability) -> IntArray:
        """Those of these cells whose value is still unlikely beside the expected one, now that others were changed."""
        chosen = np.zeros(len(self.changed), dtype=np.bool_)
        chosen[here] = True
        cells = self.cells.take(chosen)
        expected, probability = expect(codes, cells)
        self.fits[here] = expected == codes.values[cells.row, cells.field]
        self.fits[here] |= _TIMES_AS_LIKELY * own(codes, cells) > probability
        still = ~self.fits[here]
        self.expected[here[still]], self.probability[here[still]] = expected[still], probability[still]
        return here[still]

    def kept_because(self, encoder: Any) -> list[str]:
        """Why each cell stays as it is; nothing for those that were changed."""
        values = encoder.values_of(self.cells.field, self.expected)
        likely = self.probability >= self.at_least
        states = zip(values, self.changed.tolist(), self.fits.tolist(), likely.tolist(), strict=True)
        return [_kept_because(value, fits, enough) if not changed else "" for value, changed, fits, enough in states]


def _kept_because(value: tuple[Any, str] | CodeMeaning, fits: bool, likely: bool) -> str:
    if fits:
        return "it fits what was changed in its row"
    if value is CodeMeaning.COMPUTED:
        return f"it is {value}"
    if isinstance(value, CodeMeaning):
        return f"{value} is expected"
    return "its column cannot hold the expected value" if likely else "no value is likely enough"


def _turns(cells: ReportedCells) -> NDArray[np.int64]:
    """The place of each cell among those of its row, from 0 for the oddest, (C,)."""
    order = np.lexsort((-cells.oddness, cells.row))
    ordered = cells.row[order]
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
    return turn


def with_codes(codes: Codes, row: IntArray, field: IntArray, new: IntArray) -> Codes:
    """The codes with others in these cells."""
    values, excess = codes.values.copy(), None if codes.excess is None else codes.excess.copy()
    values[row, field] = new
    if excess is not None:
        excess[row, field] = 0.0
    return replace(codes, values=values, excess=excess)
