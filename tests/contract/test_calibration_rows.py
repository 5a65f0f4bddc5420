"""The alarm rate is exact because the rows that calibrate decide nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff import HeldOutLoss, MLPReconstructor, Steps, TableDetector, Training
from maskdiff.detectors import learning
from maskdiff.detectors.split import split_rows

from .cases import CASES, table_case

# Ends when held-out losses say so, which must not be those of rows that calibrate.
UNTIL_LOSS = MLPReconstructor(16, 2, training=Training(HeldOutLoss(1, 40), learning_rate=3e-3, look_every=2))
APART = [case for case in CASES.values() if "kernel" not in case.name]


@pytest.fixture(autouse=True)
def hardly_any_steps(monkeypatch):
    """What decides nothing in the first steps decides nothing later."""
    monkeypatch.setattr(Steps, "steps", lambda self, n_rows, batch_size: 5)


@pytest.fixture
def splits(monkeypatch):
    """The splits that detectors fitted from here on draw."""
    drawn = []

    def draw(*args, **settings):
        drawn.append(split_rows(*args, **settings))
        return drawn[-1]

    monkeypatch.setattr(learning, "split_rows", draw)
    return drawn


@pytest.mark.parametrize(
    "case", [*APART, table_case("until held-out loss", reconstructor=UNTIL_LOSS)], ids=lambda case: case.name
)
def test_other_rows_to_calibrate_change_no_score(case, splits, model_folder):
    first = keeping_rows_back(case, model_folder).fit(case.normal)
    other_rows = case.normal.copy()
    calibration = splits[0].calibration
    for name in other_rows:
        other_rows[name] = _replaced(case.normal[name], calibration, case.normal[name].iloc[splits[0].train[0]])
    second = keeping_rows_back(case, model_folder).fit(other_rows)
    np.testing.assert_array_equal(second.anomaly_score(case.rows), first.anomaly_score(case.rows))
    assert not np.array_equal(second.calibration_.scores, first.calibration_.scores)


def keeping_rows_back(case, model_folder):
    """A detector whose rows to calibrate are never learned from, however small the table."""
    detector = case.make(model_folder)
    return detector.set_params(cross_fit_up_to=0) if isinstance(detector, TableDetector) else detector


def _replaced(column, rows, value):
    cells = list(column)
    for row in rows:
        cells[row] = value
    return cells
