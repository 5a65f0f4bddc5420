"""What a record of our own detectors says beyond the metrics: alarms among normal rows, and each term of evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff.codes import FloatArray
from maskdiff.evidence import CellEvidence

RATES = (0.01, 0.05)


def scores_and_evidence(detector: Any, X: Any) -> tuple[FloatArray, CellEvidence | None]:
    """The rows' scores, and what they are made of where the detector combines evidence."""
    if not hasattr(detector, "evidence_"):
        return detector.anomaly_score(X), None
    evidence = detector.evidence_.weigh(detector.encoder_.encode(X))
    return evidence.score, evidence


def details(detector: Any, scores: FloatArray, evidence: CellEvidence | None, y: NDArray[Any]) -> dict[str, Any]:
    """How many normal rows would be alarms at each rate; the metrics of the first term, the first two, and so on.

    A detector that has a method `details` says itself what is worth keeping.
    """
    if evidence is None:
        return dict(detector.details(scores, y)) if hasattr(detector, "details") else {}
    p_value = detector.calibration_.p_values(scores)[y == 0]
    found: dict[str, Any] = {
        "n_normal": len(p_value),
        "n_calibration": len(detector.calibration_),
        "false_alarms": {str(rate): int((p_value <= rate).sum()) for rate in RATES},
    }
    terms = detector.evidence_.terms
    if len(terms) > 1 and evidence.by_term is not None:
        names = [f"{term.source} {term.aggregate}" for term in terms]
        found["kinds"] = dict(zip(names, map(_ranked(y), evidence.by_term.T), strict=True))
        found["added_up"] = dict(zip(names, map(_ranked(y), np.cumsum(evidence.by_term, axis=1).T), strict=True))
    return found


def _ranked(y: NDArray[Any]) -> Any:
    return lambda score: [float(roc_auc_score(y, score)), float(average_precision_score(y, score))]
