"""What a search says about rows: verdicts on each, and how many of them all are odd."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Codes, FloatArray, IntArray
from maskdiff.codes.windows import Windows
from maskdiff.detectors.cell_repairs import Repair
from maskdiff.detectors.cell_reports import CellReports
from maskdiff.detectors.finding.cross_fit import CrossFit
from maskdiff.detectors.finding.search import Found
from maskdiff.detectors.finding.tail import NONE_ODD, OddEstimate
from maskdiff.detectors.verdicts import TokenVerdicts, Verdicts
from maskdiff.errors import SettingError
from maskdiff.evidence import CellEvidence

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector


@dataclass(frozen=True, eq=False)
class Findings(Verdicts):
    """Verdicts on the N rows of one file, each by a model that did not learn from it.

    `p_value` is the share of the file's normal rows expected to score at least as high; that holds as far as a normal
    row is exchangeable with the rest of the file. `is_anomaly` marks the rows selected so that on average at most
    `false_discovery_rate` of them are normal. `estimated_odd` says how many of all rows are odd, with an interval.
    `left_out` (N,) are the oddest rows, as many; `detector` has learned from all others, and `codes` are its codes.
    `cross_fit` holds the models that judged the rows; `cells` says what they find in single cells of a table, where all
    rows were judged at once.
    """

    detector: Detector | None = None
    cross_fit: CrossFit | None = None
    left_out: BoolArray | None = None
    estimated_odd: OddEstimate = NONE_ODD
    false_discovery_rate: float = 0.1

    def take(self, rows: IntArray | BoolArray) -> Any:
        """The findings about these rows, which keep their labels."""
        taken = _taken_verdicts(self, rows)
        left_out = None if self.left_out is None else self.left_out[rows]
        return type(self)(
            **{field.name: getattr(taken, field.name) for field in fields(Verdicts)},
            detector=self.detector,
            cross_fit=None if self.cross_fit is None else self.cross_fit.take(rows),
            left_out=left_out,
            estimated_odd=self.estimated_odd,
            false_discovery_rate=self.false_discovery_rate,
        )

    @property
    def judges(self) -> CrossFit | None:
        """The models that judged the rows and explain them; of texts the detector explains, which cuts them its way."""
        return None if isinstance(self.codes, Windows) else self.cross_fit

    def ranked(self) -> Any:
        """The same, the oddest row first; rows without evidence are last."""
        return self.take(np.argsort(-np.nan_to_num(self.alarm_score, nan=-np.inf), kind="stable"))

    def to_frame(self) -> Any:
        """anomaly_score, p_value, is_anomaly and left_out as a pandas DataFrame with the labels of the rows."""
        return super().to_frame().assign(left_out=self.left_out)

    def explain(self, X: Any, top: int = 3) -> Any:
        """The `top` cells that carry each row's score: see the `explain` of the detector. `X` are the rows."""
        assert self.detector is not None
        return self.detector.explain(X, top, verdicts=self)

    def odd_cells(self, X: Any, false_discovery_rate: float = 0.1) -> Any:
        """The cells of a table that look wrong, the oddest first: see `TableDetector.odd_cells`. `X` are the rows.

        About `false_discovery_rate` of the cells reported are fine. That is an estimate: how the log odds of cells that
        are somewhat odd fall says how many fine ones to expect among the oddest (`calibration.CellTail`). Oddness is
        how far the log odds are beyond what is usual for the column or the value, whichever is more, in nats, and a
        p-value the share of the fine cells of all columns expected to be at least as odd.
        """
        return self._table_detector.odd_cells(X, false_discovery_rate, verdicts=self)

    def repair(self, X: Any, false_discovery_rate: float = 0.1, *, at_least: float = 0.5) -> Repair:
        """A copy of the rows `X` in which wrong cells hold what should be there: see `TableDetector.repair`."""
        return self._table_detector.repair(X, false_discovery_rate, at_least=at_least, verdicts=self)

    @property
    def _table_detector(self) -> CellReports:
        if not isinstance(self.detector, CellReports):
            raise SettingError("only tables have cells to judge one by one; these rows are texts or lists.")
        return self.detector


def _taken_verdicts(findings: Findings, rows: IntArray | BoolArray) -> Verdicts:
    verdicts = TokenVerdicts if isinstance(findings.codes, Windows) else Verdicts
    return verdicts(*(getattr(findings, field.name) for field in fields(Verdicts))).take(rows)


def findings_of(found: Found, detector: Detector, rows: Any, places: NDArray[np.int64], index: Any = None) -> Findings:
    """The findings about these rows of those searched, with their cells; `detector` learned from those not left out."""
    codes, score = detector.encoder_.encode(rows), found.score[places]
    cells = _cells(found.cross_fit, detector, codes, rows, found.cross_fit.fold[places])
    return Findings(
        score,
        found.alarm_score[places],
        found.p_value[places],
        found.is_anomaly[places],
        np.zeros(len(places), np.int8),  # each is judged by a model that did not see it
        _adding_up(cells, score, codes),
        cells.surprise,
        codes,
        index,
        found.is_anomaly[places],
        detector=detector,
        cross_fit=found.cross_fit.take(places),
        left_out=found.left_out[places],
        estimated_odd=found.estimated_odd,
        false_discovery_rate=found.options.false_discovery_rate,
    )


def _cells(cross_fit: CrossFit, detector: Detector, codes: Codes, rows: Any, fold: NDArray[np.int8]) -> CellEvidence:
    """Each cell's part, in the fields of the detector that is kept.

    Texts are cut into tokens anew by every model, so that those of the one that is kept are shown.
    """
    if isinstance(codes, Windows):
        return detector.evidence_.weigh(codes)
    names = {name: at for at, name in enumerate(codes.schema.names)}
    contributions, surprise = np.zeros(codes.values.shape), np.zeros(codes.values.shape)
    for places, own, cells in cross_fit.judged(rows, fold):
        shared = [(at, names[name]) for at, name in enumerate(own.schema.names) if name in names]
        theirs, here = np.array(shared, np.int64).reshape(-1, 2).T
        contributions[places[:, None], here] = cells.contributions[:, theirs]
        surprise[places[:, None], here] = cells.surprise[:, theirs]
    return CellEvidence(contributions, surprise)


def _adding_up(cells: CellEvidence, score: FloatArray, codes: Codes) -> FloatArray:
    """Contributions whose row sums are the scores: in these proportions, or evenly where all are 0."""
    row = np.arange(len(score)) if cells.row is None else cells.row
    total = np.nan_to_num(cells.score)
    scaled = cells.contributions * np.where(total > 0, score / np.maximum(total, 1e-9), 1.0)[row][:, None]
    counts = codes.counts if isinstance(codes, Windows) else np.ones(codes.values.shape, np.bool_)
    n_cells = np.bincount(row, weights=counts.sum(axis=1), minlength=len(score))
    missing = np.where(total > 0, 0.0, score - total) / np.maximum(n_cells, 1)
    shared: FloatArray = scaled + counts * missing[row][:, None]
    return shared
