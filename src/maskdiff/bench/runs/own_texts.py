"""Our detectors of texts and sequences as they are measured: a finite score for every row, and details of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from maskdiff.codes import FloatArray
from maskdiff.detectors import MAIN, TokenDetector
from maskdiff.score import AGGREGATES, CellScores, Typical, row_sums

# Numbers of typical tokens that other aggregates are steadied with.
TYPICAL = (5, 10, 20, 40, 80)


class OwnTexts:
    """One of our detectors; a row without a single token, which has no score, counts as the least odd."""

    def __init__(self, detector: TokenDetector) -> None:
        self.detector = detector

    def fit(self, X: Sequence[Any]) -> Self:
        """Learn from normal rows."""
        self.detector.fit(X)
        return self

    def anomaly_score(self, X: Sequence[Any]) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        evidence = self.detector.evidence_
        self.cells_: CellScores | None = None
        if len(evidence.terms) > 1:
            return _filled(self.detector.anomaly_score(X))
        # The cells are kept: other aggregates of them cost next to nothing.
        self.cells_ = evidence.sources[MAIN].cells(self.detector.encoder_.encode(X), stage="scoring")
        (term,) = evidence.terms
        return _row_scores(self.cells_, term.aggregate, term.typical)

    def details(self, scores: FloatArray, y: NDArray[Any]) -> dict[str, Any]:
        """What its alarms at the calibrated threshold are worth, and what other aggregates would give."""
        alarm = scores > self.detector.threshold()
        return {
            "false_alarm_rate": self.detector.calibration_.rate_or_default(None),
            "alarms_among_normal": float(alarm[y == 0].mean()),
            "anomalies_found": float(alarm[y == 1].mean()),
            "f1": float(f1_score(y, alarm)),
            "other_aggregates": self._other_aggregates(y),
        }

    def _other_aggregates(self, y: NDArray[Any]) -> dict[str, dict[str, float]]:
        """Each aggregate as it is, and the detector's own steadied with other numbers of typical tokens."""
        if self.cells_ is None:
            return {}
        (term,) = self.detector.evidence_.terms
        ways: dict[str, tuple[str, Typical | None]] = {name: (name, None) for name in AGGREGATES}
        if term.typical is not None:
            for n in TYPICAL:
                ways[f"{term.aggregate}+{n}"] = (term.aggregate, replace(term.typical, cells=float(n)))
        scores = {name: _row_scores(self.cells_, *way) for name, way in ways.items()}
        return {
            name: {"roc_auc": float(roc_auc_score(y, each)), "pr_auc": float(average_precision_score(y, each))}
            for name, each in scores.items()
        }


def _row_scores(cells: CellScores, aggregate: str, typical: Typical | None) -> FloatArray:
    return _filled(row_sums(cells.contributions(aggregate, typical), cells.row))


def _filled(scores: FloatArray) -> FloatArray:
    return np.where(np.isnan(scores), np.nanmin(scores), scores)
