from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from maskdiff.bench.runs.details import details
from maskdiff.bench.runs.measure import metrics

Y = np.array([0, 0, 0, 1])
BY_TERM = np.array([[1.0, 4.0], [2.0, 3.0], [3.0, 1.0], [2.5, 5.0]])


class Looking:
    """Rows have terms of evidence only where the whole grid is asked for; `asked` counts how often that was."""

    evidence_ = SimpleNamespace(terms=[SimpleNamespace(source=one, aggregate="mean") for one in ("network", "kernel")])
    calibration_ = (0.0, 1.0)

    def __init__(self, effort: str = "auto") -> None:
        self.effort, self.asked = effort, 0

    def with_effort(self, effort: str) -> Looking:
        self.asked += 1
        return Looking(effort)

    def judge(self, X: object) -> Any:
        by_term = BY_TERM if self.effort == "full" else np.where([[True], [False], [False], [True]], BY_TERM, np.nan)
        return SimpleNamespace(p_value=np.array([0.5, 0.04, 0.6, 0.01]), by_term=by_term)


def said(detector: Looking) -> dict[str, Any]:
    scores: NDArray[np.float64] = BY_TERM.sum(axis=1)
    return details(detector, None, scores, detector.judge(None), Y)


def test_terms_of_evidence_are_those_of_the_whole_grid_where_rows_got_a_first_look() -> None:
    found = said(Looking())
    assert list(found["kinds"].values()) == [list(metrics(Y, term).values()) for term in BY_TERM.T]
    assert found["added_up"]["kernel mean"] == list(metrics(Y, BY_TERM.sum(axis=1)).values())


def test_the_whole_grid_is_not_asked_twice() -> None:
    detector = Looking("full")
    said(detector)
    assert detector.asked == 0


@pytest.mark.parametrize("effort", ["auto", "full"])
def test_alarms_are_those_of_the_effort_that_was_measured(effort: str) -> None:
    found = said(Looking(effort))
    assert found["false_alarms"] == {"0.01": 0, "0.05": 1}
    assert found["anomalies_found"] == {"0.01": 1.0, "0.05": 1.0}
