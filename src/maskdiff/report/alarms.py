"""One alarm as the page shows it: its score, its explained cells and, within limits, the whole row."""

from __future__ import annotations

from dataclasses import dataclass

from maskdiff.codes import FloatArray, IntArray
from maskdiff.explanations.shading import Piece
from maskdiff.report.marks import Mark


@dataclass(frozen=True, slots=True)
class ExplainedCell:
    """A cell with a large contribution, or an odd one. `pattern` is what its value shares with others: the value, or
    its bin. `note` says in words what is odd about the value, where that is known, and `contradicts` names the other
    one of two cells that are only odd together. `pieces` are those of a text, by how odd they are."""

    field: int
    value: str
    pattern: str
    share: float
    expected: str
    probability: float
    odd: bool
    unseen: bool
    as_expected: bool
    note: str = ""
    contradicts: str = ""
    pieces: tuple[Piece, ...] = ()


@dataclass(slots=True)
class Alarm:
    """One row to show. `is_alarm` is False for a row that only a higher false-alarm rate would call an anomaly.

    `values`, `shares` and `codes` are those of the whole row, None where it is not kept. `more_odd` are the fields that
    are odd, but not among the explained cells. `marks` is the whole row as a text, where it is one. `oddity` says what
    makes it odd, in words; `whole` is its score where one cell raised it further.
    """

    number: int
    score: float
    p_value: float
    is_alarm: bool
    cells: tuple[ExplainedCell, ...]
    more_odd: tuple[int, ...] = ()
    context: tuple[str, ...] = ()
    values: tuple[str, ...] | None = None
    shares: FloatArray | None = None
    codes: IntArray | None = None
    marks: tuple[Mark, ...] | None = None
    oddity: str = ""
    whole: float | None = None

    @property
    def odd_cells(self) -> tuple[ExplainedCell, ...]:
        return tuple(cell for cell in self.cells if cell.odd)

    @property
    def odd_fields(self) -> tuple[int, ...]:
        return (*(cell.field for cell in self.odd_cells), *self.more_odd)

    @property
    def n_odd(self) -> int:
        return len(self.odd_fields)

    @property
    def size(self) -> int:
        """The memory the whole row takes: one for each cell, or for each character."""
        return sum(len(mark.text) for mark in self.marks) if self.marks else len(self.values or ())

    def drop_whole_row(self) -> None:
        """Keep the explained cells only."""
        self.values = self.shares = self.codes = self.marks = None
