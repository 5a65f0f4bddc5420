"""One alarm as the page shows it: its score, its explained cells and, within limits, the whole row."""

from __future__ import annotations

from dataclasses import dataclass

from maskdiff.codes import FloatArray
from maskdiff.report.marks import Mark


@dataclass(frozen=True, slots=True)
class ExplainedCell:
    """A cell with a large contribution. `pattern` is what its value shares with others: the value, or its bin."""

    field: int
    value: str
    pattern: str
    share: float
    expected: str
    probability: float
    odd: bool
    unseen: bool
    as_expected: bool


@dataclass(slots=True)
class Alarm:
    """One row above the threshold. `values` and `shares` are those of the whole row, None where it is not kept.

    `marks` is the whole row as a text, where it is one.
    """

    number: int
    score: float
    p_value: float
    cells: tuple[ExplainedCell, ...]
    n_odd: int
    context: tuple[str, ...]
    values: tuple[str, ...] | None
    shares: FloatArray | None
    marks: tuple[Mark, ...] | None = None

    @property
    def odd_cells(self) -> tuple[ExplainedCell, ...]:
        return tuple(cell for cell in self.cells if cell.odd)

    @property
    def size(self) -> int:
        """The memory the whole row takes: one for each cell, or for each character."""
        return sum(len(mark.text) for mark in self.marks) if self.marks else len(self.values or ())

    def drop_whole_row(self) -> None:
        """Keep the explained cells only."""
        self.values = self.shares = self.marks = None
