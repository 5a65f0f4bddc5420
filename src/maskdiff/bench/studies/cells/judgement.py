"""What is measured: a detector that judges rows and the cells in them. N rows, C columns, F fields of our detectors."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.calibration import Calibration
from maskdiff.codes import BoolArray, FloatArray, IntArray, Schema
from maskdiff.detectors import TableDetector
from maskdiff.detectors.cell_alarms import CellVerdicts
from maskdiff.detectors.finding.cross_fit import CrossFit
from maskdiff.detectors.finding.found_cells import cell_table, judge_cells
from maskdiff.encoders.table.input import read_table
from maskdiff.explanations import Places
from maskdiff.explanations.reported_cells import ReportedCells

if TYPE_CHECKING:
    import pandas as pd

FALSE_DISCOVERY_RATE = 0.1


@dataclass(frozen=True, eq=False)
class Judgement:
    """How odd each row is (N,), whether it is an alarm at 1% false alarms (N,), and how odd each cell is (N, C).

    A cell nothing is said about is -inf odd. `reasons` (N, C) is the order in which a row's cells are named, None: by
    their oddness.
    """

    score: FloatArray
    alarm: BoolArray
    oddness: FloatArray
    reasons: FloatArray | None = None

    @property
    def order(self) -> FloatArray:
        """What the cells of a row are ordered by, (N, C)."""
        return self.oddness if self.reasons is None else self.reasons


@dataclass(frozen=True, eq=False)
class FileCells:
    """How odd each cell of a file is, (N, C), -inf where nothing is said about it.

    `reported` are the cells listed at a false-discovery rate of 10%, and `right` those of them where what is expected
    is what stood there before, each (N, C); None where a detector has no such list.
    """

    oddness: FloatArray
    reported: BoolArray | None = None
    right: BoolArray | None = None


class CellDetector(Protocol):
    """What is measured."""

    @property
    def n_calibration(self) -> int:
        """By how many rows the threshold was set."""

    def fit(self, X: pd.DataFrame) -> Any:
        """Learn from normal rows."""

    def judge(self, X: pd.DataFrame) -> Judgement:
        """Rows and cells."""

    def judge_file(self, X: pd.DataFrame, fold: IntArray, truth: pd.DataFrame) -> FileCells:
        """All cells of a file, those of each fold as learned from the others; `truth` is the file without errors."""

    def suggests(self, X: pd.DataFrame, judged: Judgement, column: IntArray, truth: pd.DataFrame) -> BoolArray | None:
        """Whether the value expected in this column of each row is that of `truth`, (N,); None: it expects nothing."""


class OurCells:
    """A table detector. Only this class knows how its evidence about cells is read."""

    def __init__(self, detector: TableDetector) -> None:
        self.detector = detector

    @property
    def n_calibration(self) -> int:
        return len(self.detector.calibration_)

    def fit(self, X: pd.DataFrame) -> Self:
        self.detector.fit(X)
        return self

    def judge(self, X: pd.DataFrame) -> Judgement:
        verdicts = self.detector.judge(X)
        cells = verdicts.cells
        assert cells is not None
        reasons = self.detector.reason_strength(verdicts)
        oddness, named = (_by_column(one, verdicts.codes.schema, X) for one in (cells.oddness, reasons))
        return Judgement(verdicts.alarm_score, verdicts.is_anomaly, oddness, named)

    def judge_file(self, X: pd.DataFrame, fold: IntArray, truth: pd.DataFrame) -> FileCells:
        """As `find` does: the models are not calibrated, the file itself is what calibrates."""
        rows = read_table(X)
        self.detector._look(lambda: [rows], len(X))
        everything = np.ones(len(X), np.bool_)
        cross_fit = CrossFit.learn(self.detector, lambda: [rows], fold.astype(np.int8), everything)
        schema = cross_fit.models[0].encoder_.schema_
        cells = judge_cells(cross_fit, lambda: [rows], schema)
        listed = cell_table(cross_fit, X, _reported(cells), schema)
        return FileCells(_by_column(cells.oddness, schema, X), *_listed(listed, cross_fit, X, truth))

    def suggests(self, X: pd.DataFrame, judged: Judgement, column: IntArray, truth: pd.DataFrame) -> BoolArray:
        """As a user reads it: the column is among the three reasons, and what should be there is the true value."""
        names = np.asarray(X.columns.astype(str), dtype=object)[column]
        own = np.take_along_axis(judged.order, column[:, None], axis=1)
        named = np.flatnonzero((own[:, 0] > 0) & ((judged.order > own).sum(axis=1) < 3))
        codes = self.detector.encoder_.encode(X)
        field = np.array([codes.schema.names.index(each) for each in names[named]], dtype=np.int64)
        suggested, _ = self.detector.suggested_codes(X, codes, Places(named, field))
        labels = [codes.schema.fields[j].label(int(code)) for j, code in zip(field, suggested, strict=True)]
        known = _labels(self.detector.encoder_, truth, names)[named]
        right = np.zeros(len(X), dtype=np.bool_)
        right[named] = _is_right(np.array(labels, dtype=object), known)
        return right


# Labels that stand for several values, or for none.
_SAYS_NOTHING = ("rare", "unseen")


def _is_right(expected: NDArray[np.object_], known: NDArray[np.object_]) -> BoolArray:
    """Whether what is expected in each cell is what stood there, and says something."""
    return np.asarray((expected == known) & ~np.isin(expected, _SAYS_NOTHING), dtype=np.bool_)


def _reported(cells: CellVerdicts) -> ReportedCells:
    return ReportedCells.of(cells.select(FALSE_DISCOVERY_RATE), cells.oddness, cells.p_value)


def _listed(listed: Any, cross_fit: CrossFit, X: pd.DataFrame, truth: pd.DataFrame) -> tuple[BoolArray, BoolArray]:
    """Which cells are in this list, and where what is expected is that of `truth`, each (N, C)."""
    listed = listed[listed["column"].isin(X.columns.astype(str))]  # a field computed from dates has no cell
    row, names, expected = (listed[each].to_numpy() for each in ("row", "column", "expected"))
    known = np.full(len(row), None, dtype=object)
    for number, model in enumerate(cross_fit.models):
        own = np.flatnonzero(cross_fit.fold[row] == number)
        known[own] = _labels(model.encoder_, truth.iloc[row[own]], names[own])
    reported, right = (np.zeros(X.shape, dtype=np.bool_) for _ in range(2))
    place = X.columns.astype(str).get_indexer(names)
    reported[row, place], right[row, place] = True, _is_right(expected, known)
    return reported, right


def _labels(encoder: Any, X: pd.DataFrame, names: NDArray[np.object_]) -> NDArray[np.object_]:
    """What the encoder calls the value of one column of each row, shape (N,)."""
    codes = encoder.encode(X)
    found = np.full(len(X), None, dtype=object)
    for j, field in enumerate(codes.schema):
        rows = np.flatnonzero(names == field.name)
        found[rows] = [field.label(int(code)) for code in codes.values[rows, j]]
    return found


def _by_column(of_fields: FloatArray, schema: Schema, X: pd.DataFrame) -> FloatArray:
    """The columns' part of an array over fields (N, F), as (N, C): a field computed from dates has no cell."""
    found = np.full(X.shape, -np.inf)
    place = {str(name): j for j, name in enumerate(X.columns)}
    for j, field in enumerate(schema):
        if field.name in place:
            found[:, place[field.name]] = of_fields[:, j]
    return found


class CountingDetector(Protocol):
    """A simple detector: no threshold of its own."""

    def fit(self, X: pd.DataFrame) -> Any:
        """Learn from normal rows."""

    def oddness(self, X: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
        """Of rows (N,) and of cells (N, C)."""


class Calibrated:
    """A simple detector with a threshold from a tenth of the rows, on which it does not learn."""

    def __init__(self, detector: CountingDetector, *, seed: int = 0) -> None:
        self.detector = detector
        self.seed = seed

    @property
    def n_calibration(self) -> int:
        return len(self.calibration_)

    def fit(self, X: pd.DataFrame) -> Self:
        order = np.random.default_rng(self.seed).permutation(len(X))
        n_calibration = min(max(len(X) // 10, 100), len(X) // 3)
        self.detector.fit(X.iloc[order[n_calibration:]])
        held_out, _ = self.detector.oddness(X.iloc[order[:n_calibration]])
        self.calibration_ = Calibration.from_scores(held_out)
        return self

    def judge(self, X: pd.DataFrame) -> Judgement:
        score, cells = self.detector.oddness(X)
        threshold = self.calibration_.threshold(self.calibration_.rate_or_default(None))
        return Judgement(score, score > threshold, cells)

    def judge_file(self, X: pd.DataFrame, fold: IntArray, truth: pd.DataFrame) -> FileCells:
        cells = np.empty(X.shape)
        for number in np.unique(fold):
            here = fold == number
            cells[here] = copy.copy(self.detector).fit(X.iloc[~here]).oddness(X.iloc[here])[1]
        return FileCells(cells)

    def suggests(self, X: pd.DataFrame, judged: Judgement, column: IntArray, truth: pd.DataFrame) -> BoolArray | None:
        holds_expected = getattr(self.detector, "holds_expected", None)
        return None if holds_expected is None else holds_expected(truth, column)
