"""What every content of rows offers the page, columns and tokens alike: one protocol and its records."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import IntArray
from maskdiff.detectors import Verdicts
from maskdiff.encoders.table.input import Table
from maskdiff.encoders.tokens.input import TokenRows
from maskdiff.errors import ColumnTypeError
from maskdiff.report.alarms import Alarm
from maskdiff.report.formatting import display_value
from maskdiff.report.nearest import NormalRow
from maskdiff.report.timeline import Timeline

# Columns that were not judged, such as row ids, are shown next to the row: at most this many of them.
MAX_CONTEXT = 4


@dataclass(frozen=True)
class Wording:
    """The page's names for what it shows.

    A `row` is judged, its `part`s are shaded, and scores are summed by `feature`: in a table the rows, cells and
    columns, otherwise the texts or sequences and, for both of the others, their tokens or symbols.
    """

    row: str
    rows: str
    part: str
    parts: str
    feature: str
    features: str
    value: str  # what a part holds
    reasons_heading: str  # over the odd parts of an anomaly
    group_heading: str  # over what the anomalies of a group have in common
    pattern_heading: str  # over what many of them have in common beyond that
    views: tuple[tuple[str, str], ...]  # the ways to show an anomaly: key and label

    @property
    def is_table(self) -> bool:
        return self.feature == "column"


@dataclass(frozen=True)
class ScoreShare:
    """The share of the alarms' scores that one column or token contributes, and its share of the other rows' scores."""

    name: str
    in_alarms: float
    in_other_rows: float
    n_odd: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Rows as a detector's encoder reads them, and the whole table they came in, if they came in one."""

    input: Any
    table: Table | None

    @property
    def n_rows(self) -> int:
        return int(self.input.n_rows)

    def take(self, rows: IntArray) -> ReportRows:
        return ReportRows(self.input.take(rows), None if self.table is None else self.table.take(rows))

    def numbered(self, numbers: NDArray[np.int64]) -> ReportRows:
        """The same rows; an error that names one of them uses its number."""
        return replace(self, input=replace(self.input, rows=numbers)) if isinstance(self.input, TokenRows) else self


class RowContent(Protocol):
    """The content of rows, columns or tokens: counted batch by batch, summarised for the page."""

    wording: Wording
    names: list[str]

    def read(self, X: Any) -> ReportRows:
        """The rows of X."""

    def count(self, rows: ReportRows, verdicts: Verdicts) -> None:
        """Add the contributions, odd cells and values of these rows to the counts."""

    def context_columns(self, table: Table) -> list[str]:
        """The columns that identify a row without having been judged."""

    def alarms(self, rows: ReportRows, verdicts: Verdicts, numbers: Sequence[int], max_cells: int) -> list[Alarm]:
        """These rows, all of them alarms, the highest score first; those beyond `max_cells` need not be whole."""

    def group_key(self, alarm: Alarm) -> tuple[tuple[Hashable, ...], tuple[Hashable, ...]]:
        """What the alarms of one group share, and the pattern that some of them share beyond that."""

    def group_names(self, shared: tuple[Any, ...]) -> list[str]:
        """What a group shares, as text."""

    def pattern_text(self, shared: tuple[Any, ...], pattern: tuple[Any, ...]) -> str:
        """A pattern of a group, as text."""

    def score_shares(self) -> list[ScoreShare]:
        """What contributes to the alarms' scores, the largest share first."""

    def oddities(self) -> list[tuple[str, int]]:
        """What makes the alarms odd, and how many of them each; nothing where that is not known."""

    def column_order(self) -> list[int]:
        """The order of the columns in which whole rows are shown."""

    def odd_key(self) -> int:
        """Which number of an explained cell, in the payload, identifies what is odd there."""

    def odd_counts(self, alarms: Sequence[Alarm], below: Sequence[Alarm]) -> list[tuple[int | str, str, int]]:
        """What is odd in any of these rows: its value at `odd_key`, its name, and in how many alarms.

        The rows `below` are no alarms, so that what is odd only there counts 0.
        """

    def nearest(self, alarms: Sequence[Alarm]) -> list[tuple[NormalRow, ...]]:
        """The normal rows nearest to the first of these alarms, where the model holds such rows."""

    def timelines(self) -> list[Timeline]:
        """Rows and alarms over time, one for each column of dates, the one to show first at the beginning."""

    def drift(self) -> Any:
        """How the rows differ from those the model learned from."""

    def training_facts(self) -> dict[str, Any]:
        """What the model learned from."""


def context_texts(table: Table, name: str) -> list[str]:
    """The cells of a context column; empty where they are no single values."""
    try:
        column = table.column(table.names.index(name))
        return [display_value(text) for text in column.type.display(column)]
    except ColumnTypeError:
        return [""] * table.n_rows
