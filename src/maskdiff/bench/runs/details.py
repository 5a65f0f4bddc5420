"""What a record of our own detectors says beyond the metrics: alarms among normal rows, and each term of evidence.

Terms are those of the whole grid, whatever the effort: a row that only got a first look has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff.cascade import FULL
from maskdiff.codes import FloatArray
from maskdiff.detectors import Verdicts

RATES = (0.01, 0.05)


def scores_and_verdicts(detector: Any, X: Any) -> tuple[FloatArray, Verdicts | None]:
    """The rows' scores, and all our own detectors say about them."""
    if not hasattr(detector, "judge"):
        return detector.anomaly_score(X), None
    verdicts = detector.judge(X)
    return verdicts.anomaly_score, verdicts


def details(detector: Any, X: Any, scores: FloatArray, verdicts: Verdicts | None, y: NDArray[Any]) -> dict[str, Any]:
    """How many normal rows would be alarms at each rate; the metrics of the first term, the first two, and so on.

    A detector that has a method `details` says itself what is worth keeping.
    """
    if verdicts is None:
        return dict(detector.details(scores, y)) if hasattr(detector, "details") else {}
    p_value, found_at = verdicts.p_value[y == 0], verdicts.p_value[y != 0]
    found: dict[str, Any] = {
        "n_normal": len(p_value),
        "n_calibration": len(detector.calibration_),
        "false_alarms": {str(rate): int((p_value <= rate).sum()) for rate in RATES},
        "anomalies_found": {str(rate): float((found_at <= rate).mean()) for rate in RATES},
    }
    terms, by_term = detector.evidence_.terms, verdicts.by_term
    if len(terms) > 1 and by_term is not None:
        if np.isnan(by_term).any():  # rows that only got a first look have no terms of their own
            by_term = detector.with_effort(FULL).judge(X).by_term
        names = [f"{term.source} {term.aggregate}" for term in terms]
        found["kinds"] = dict(zip(names, map(_ranked(y), by_term.T), strict=True))
        found["added_up"] = dict(zip(names, map(_ranked(y), np.cumsum(by_term, axis=1).T), strict=True))
    return found


def _ranked(y: NDArray[Any]) -> Any:
    return lambda score: [float(roc_auc_score(y, score)), float(average_precision_score(y, score))]
