"""What a report counts and shows of its rows: the cells of columns, or the tokens of texts and sequences."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, FloatArray, IntArray
from maskdiff.detectors import Verdicts
from maskdiff.encoders.table.column_types import cell_words
from maskdiff.encoders.table.input import Table
from maskdiff.encoders.tokens.input import TokenRows
from maskdiff.errors import ColumnTypeError
from maskdiff.explanations.shading import Piece
from maskdiff.report.words import shown

ODD_PART = 0.5
# Columns that were not judged, such as row ids, are shown beside the row: so many of them.
MOST_CONTEXT = 4


@dataclass(frozen=True)
class Words:
    """How the page speaks of what it shows. `thing` is what is counted, `part` what is shaded, `row` what is judged."""

    row: str
    rows: str
    part: str
    parts: str
    thing: str
    things: str
    heads: str  # over the odd parts of an anomaly
    value: str  # what such a part holds
    group: str  # what anomalies of a group have in common
    pattern: str  # and what else, often
    views: tuple[tuple[str, str], ...]  # ways to show an anomaly, and what they are called


@dataclass(frozen=True, slots=True)
class ExplainedCell:
    """One cell that carries a score. `pattern` is what the value has in common with others: itself, or its bin."""

    field: int
    value: str
    pattern: str
    share: float
    expected: str
    probability: float
    odd: bool
    unseen: bool
    as_expected: bool


@dataclass(frozen=True)
class Mark(Piece):
    """A piece of a text; `cell` is the place of the explained cell it belongs to, -1 for none."""

    cell: int = -1


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
        """How much room the whole row takes: one for each cell, or for each character."""
        return sum(len(mark.text) for mark in self.marks) if self.marks else len(self.values or ())

    def shorten(self) -> None:
        """Keep the explained cells only."""
        self.values = self.shares = self.marks = None


@dataclass(frozen=True)
class Carrier:
    """How much of the alarms' scores one column or token carries, against its part in the other rows' scores."""

    name: str
    share: float
    elsewhere: float
    n_odd: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a detector's encoder reads them, and the columns that stand beside them, if any."""

    read: Any
    beside: Table | None

    @property
    def n_rows(self) -> int:
        return int(self.read.n_rows)

    def take(self, rows: IntArray) -> Rows:
        return Rows(self.read.take(rows), None if self.beside is None else self.beside.take(rows))

    def numbered(self, numbers: NDArray[np.int64]) -> Rows:
        """The same; where a row is named in an error it goes by this number."""
        return replace(self, read=replace(self.read, rows=numbers)) if isinstance(self.read, TokenRows) else self


class Subject(Protocol):
    """One kind of rows. It counts them batch by batch, and tells what it counted."""

    words: Words
    names: list[str]

    def read(self, X: Any) -> Rows:
        """The rows of X."""

    def count(self, rows: Rows, verdicts: Verdicts) -> None:
        """What alarms and other rows are made of."""

    def context(self, beside: Table) -> list[str]:
        """The columns that say which row this is, without having been judged."""

    def alarms(self, rows: Rows, verdicts: Verdicts, numbers: Sequence[int], room: int) -> list[Alarm]:
        """These rows, all of them alarms, the highest score first; those beyond the room need not be whole."""

    def kin(self, alarm: Alarm) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """What alarms of one group share, and the pattern that some of them share beyond that."""

    def titles(self, shared: tuple[Any, ...]) -> list[str]:
        """In words, what a group shares."""

    def pattern(self, shared: tuple[Any, ...], pattern: tuple[Any, ...]) -> str:
        """In words, a pattern of a group."""

    def carriers(self) -> list[Carrier]:
        """What carries the alarms, the strongest first."""

    def order(self) -> list[int]:
        """The columns in which whole rows are shown."""

    def odd_by(self) -> int:
        """Which number of an explained cell, in the payload, tells what is odd there."""

    def often_odd(self, alarms: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """What is odd in any of these alarms: where it is found in the payload, its name, and how often."""

    def drift(self) -> Any:
        """How the rows differ from those the model learned from."""

    def facts(self) -> dict[str, Any]:
        """What the model learned from."""


def odd_mask(contributions: FloatArray) -> BoolArray:
    """Which cells are odd, shape (n, F).

    A cell is *odd* when it adds at least half as much to the score as the row's strongest cell. Every column is a
    little surprising in every row, so a fixed share of the score would name bystanders along with the culprit.

    >>> odd_mask(np.array([[0.8, 0.1, 0.5], [0.0, 0.3, 0.1]]))
    array([[ True, False,  True],
           [False,  True, False]])
    """
    strongest = contributions.max(axis=1, keepdims=True, initial=0.0)
    odd: BoolArray = (contributions >= ODD_PART * strongest) & (contributions > 0)
    return odd


def context_words(beside: Table, name: str) -> list[str]:
    """The cells of a column that stands beside the rows; nothing where they are no single values."""
    try:
        return [shown(word) for word in cell_words(beside.column(beside.names.index(name)))]
    except ColumnTypeError:
        return [""] * beside.n_rows
