"""The alarms a report keeps: those with the highest scores, each with its odd cells and, within bounds, its whole row.

A cell is *odd* when it adds at least half as much to the score as the row's strongest cell. Every column is a little
surprising in every row, so a fixed share of the score would name bystanders along with the culprit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.detectors import TableDetector, Verdicts
from maskdiff.encoders.intake import Table
from maskdiff.encoders.readings import cell_words
from maskdiff.report.words import shown

ODD_PART = 0.5
# So many cells of a row are explained.
EXPLAINED = 5
MOST_ALARMS = 50_000
# So many cells are kept in whole rows; beyond that a row has only its explained cells.
MOST_CELLS = 2_000_000
# Columns that were not judged, such as row ids, are shown beside the row: so many of them.
MOST_CONTEXT = 4


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


@dataclass(slots=True)
class Alarm:
    """One row above the threshold. `values` and `shares` are those of the whole row, None where it is not kept."""

    number: int
    score: float
    p_value: float
    cells: tuple[ExplainedCell, ...]
    n_odd: int
    context: tuple[str, ...]
    values: tuple[str, ...] | None
    shares: FloatArray | None

    @property
    def odd_cells(self) -> tuple[ExplainedCell, ...]:
        return tuple(cell for cell in self.cells if cell.odd)


def odd_mask(contributions: FloatArray) -> BoolArray:
    """Which cells are odd, shape (n, F).

    >>> odd_mask(np.array([[0.8, 0.1, 0.5], [0.0, 0.3, 0.1]]))
    array([[ True, False,  True],
           [False,  True, False]])
    """
    strongest = contributions.max(axis=1, keepdims=True, initial=0.0)
    odd: BoolArray = (contributions >= ODD_PART * strongest) & (contributions > 0)
    return odd


class AlarmBook:
    """Takes alarms batch by batch and keeps those with the highest scores, in order."""

    def __init__(self, detector: TableDetector, most: int = MOST_ALARMS, most_cells: int = MOST_CELLS) -> None:
        self.detector = detector
        self.most = most
        self.most_whole = most_cells // len(detector.encoder_.schema_)
        self.alarms: list[Alarm] = []
        self.context_names: tuple[str, ...] | None = None

    def add(self, table: Table, verdicts: Verdicts, numbers: NDArray[np.int64]) -> None:
        places = context_places(self.detector, table)
        if self.context_names is None:
            self.context_names = tuple(places)
        chosen = self._candidates(verdicts)
        if len(chosen):
            self.alarms += self._read(table.take(chosen), verdicts.take(chosen), numbers[chosen], places)
            self.alarms = sorted(self.alarms, key=lambda alarm: -alarm.score)[: self.most]
            for alarm in self.alarms[self.most_whole :]:
                alarm.values = alarm.shares = None

    def _candidates(self, verdicts: Verdicts) -> NDArray[np.int64]:
        """The alarms of this batch that may be among those kept, the highest score first."""
        full = len(self.alarms) >= self.most
        floor = self.alarms[-1].score if full and self.alarms else -np.inf
        chosen = np.flatnonzero(verdicts.is_anomaly & (verdicts.anomaly_score > floor))
        return chosen[np.argsort(-verdicts.anomaly_score[chosen], kind="stable")][: self.most]

    def _read(
        self, table: Table, verdicts: Verdicts, numbers: NDArray[np.int64], places: dict[str, int]
    ) -> Iterable[Alarm]:
        cells = self._explain(table, verdicts)
        n_odd = odd_mask(verdicts.contributions).sum(axis=1)
        names = self.context_names or ()
        context = [cell_words(table.column(places[name])) if name in places else [""] * len(numbers) for name in names]
        whole = min(len(numbers), self.most_whole)
        values = self._whole_rows(table.take(np.arange(whole)), verdicts.codes)
        shares = verdicts.contributions[:whole] / verdicts.anomaly_score[:whole, None]
        for i, number in enumerate(numbers.tolist()):
            yield Alarm(
                number=number,
                score=float(verdicts.anomaly_score[i]),
                p_value=float(verdicts.p_value[i]),
                cells=cells[i],
                n_odd=int(n_odd[i]),
                context=tuple(shown(column[i]) for column in context),
                values=values[i] if i < whole else None,
                shares=shares[i].astype(np.float32) if i < whole else None,
            )

    def _whole_rows(self, table: Table, codes: Codes) -> list[tuple[str, ...]]:
        rows = np.arange(table.n_rows)
        columns = []
        for at, field in enumerate(codes.schema):
            number = field.kind == "number"
            words = self.detector.encoder_.display(table, rows, [at] * len(rows))
            columns.append([shown(word, number=number) for word in words])
        return list(zip(*columns, strict=True))

    def _explain(self, table: Table, verdicts: Verdicts) -> list[tuple[ExplainedCell, ...]]:
        """The strongest cells of each row, with what was expected there."""
        fields = verdicts.codes.schema.fields
        at = {field.name: j for j, field in enumerate(fields)}
        odd = odd_mask(verdicts.contributions)
        rows: list[list[ExplainedCell]] = [[] for _ in verdicts.anomaly_score]
        told = self.detector.explain(table, top=EXPLAINED, verdicts=verdicts)
        for line in told.itertuples(index=False):
            i, j = int(line.row), at[line.column]
            code, field = int(verdicts.codes.values[i, j]), fields[j]
            value = shown(line.value, number=field.kind == "number")
            cell = ExplainedCell(
                field=j,
                value=value,
                pattern=value if field.kind == "category" or code == field.size else field.label(code),
                share=float(line.share),
                expected=shown(line.expected, number=field.kind == "number"),
                probability=float(line.expected_probability),
                odd=bool(odd[i, j]),
                unseen=code == field.size,
                as_expected=field.label(code) == line.expected,
            )
            rows[i].append(cell)
        return [tuple(cells) for cells in rows]


def context_places(detector: TableDetector, table: Table) -> dict[str, int]:
    """Where the columns stand that were left out of the model: a row id says which row this is."""
    encoder = detector.encoder_
    if table.named:
        place = {name: at for at, name in enumerate(table.names)}
    else:
        place = {name: at for at, name in enumerate(encoder.feature_names_in_.tolist())}
    found = [name for name in encoder.left_out_ if place.get(name, len(table.names)) < len(table.names)]
    return {name: place[name] for name in found[:MOST_CONTEXT]}
