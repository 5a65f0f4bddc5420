"""p-values of single cells hold column by column, and a selection among all cells keeps its false-discovery rate."""

import numpy as np
import pytest
import torch
from scipy.stats import false_discovery_control

from maskdiff.calibration import CellCalibration, CellSelection
from maskdiff.errors import CalibrationError, ModelFileError


def test_p_values_are_those_of_the_own_column():
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 30.0])
    calibration = CellCalibration.of(rng.normal(size=(199, 2)) * scale)
    p_value = calibration.p_values(rng.normal(size=(4000, 2)) * scale)
    for rate in (0.05, 0.2):
        np.testing.assert_allclose((p_value <= rate).mean(axis=0), rate, atol=0.045)


def test_of_the_cells_selected_few_are_fine():
    rng, shares = np.random.default_rng(1), []
    for _ in range(40):
        calibration = CellCalibration.of(rng.exponential(size=(300, 10)))
        oddness = rng.exponential(size=(200, 10))
        wrong = rng.random(oddness.shape) < 0.02
        oddness[wrong] += 15
        selected = calibration.select(oddness, 0.1)
        assert selected[wrong].mean() > 0.9
        shares.append((selected & ~wrong).sum() / max(selected.sum(), 1))
    assert np.mean(shares) < 0.1


def test_where_nothing_is_odd_nearly_nothing_is_selected():
    rng = np.random.default_rng(2)
    calibration = CellCalibration.of(rng.exponential(size=(300, 10)))
    assert np.mean([calibration.select(rng.exponential(size=(200, 10)), 0.1).any() for _ in range(40)]) <= 0.25
    assert calibration.select(np.empty((0, 10)), 0.1).shape == (0, 10)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_rate_that_makes_no_sense_is_refused(rate):
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        CellCalibration.of(np.zeros((3, 2))).select(np.zeros((1, 2)), rate)


def test_it_is_stored_and_checked():
    calibration = CellCalibration.of(np.random.default_rng(3).normal(size=(20, 3)))
    again = CellCalibration.from_tensor(calibration.to_tensor(), 3)
    np.testing.assert_array_equal(again.oddness_CF, calibration.oddness_CF)
    with pytest.raises(ModelFileError):
        CellCalibration.from_tensor(calibration.to_tensor().flip(0), 3)
    with pytest.raises(ModelFileError):
        CellCalibration.from_tensor(torch.full((4, 3), torch.nan), 3)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_a_selection_is_benjamini_and_hochbergs(rate):
    rng = np.random.default_rng(4)
    calibration = CellCalibration.of(rng.exponential(size=(60, 4)))
    oddness = rng.exponential(size=(50, 4)) + 6 * (rng.random((50, 4)) < 0.1)
    everywhere = calibration.oddness_CF.ravel()
    reached = (everywhere[:, None] >= oddness.astype(np.float32).ravel()).sum(axis=0)
    adjusted = false_discovery_control((1 + reached) / (1 + everywhere.size))
    np.testing.assert_array_equal(calibration.select(oddness, rate).ravel(), adjusted <= rate)


def test_the_finest_rate_is_the_lowest_that_selects_a_cell():
    rng = np.random.default_rng(5)
    calibration = CellCalibration.of(rng.exponential(size=(40, 3)))
    oddness = rng.exponential(size=(100, 3)) + 9 * (rng.random((100, 3)) < 0.05)
    selection = CellSelection(calibration, 0.01)
    selection.add(oddness)
    assert 0.01 < selection.finest_rate < 1
    assert calibration.select(oddness, selection.finest_rate + 1e-9).any()
    assert not calibration.select(oddness, selection.finest_rate - 1e-9).any()


@pytest.mark.parametrize(("reached", "times"), [(0, 3.0), (3, 1.9), (10, 1.55)])
def test_how_far_one_calibration_may_be_off(reached, times):
    rng, n = np.random.default_rng(5), 150
    cells = np.sort(rng.exponential(size=(4000, n)), axis=1)
    truly = np.exp(-cells[:, -1 - reached])  # of fine cells, so many are odder than all calibrating cells but these
    promised = (1 + reached) / (n + 1)
    assert promised == pytest.approx(np.mean(truly), rel=0.05)
    assert 0.94 < np.mean(truly <= times * promised) < 0.965
