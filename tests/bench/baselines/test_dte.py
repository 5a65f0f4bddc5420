"""Diffusion time estimation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from maskdiff.bench.baselines import dte
from maskdiff.bench.baselines.networks import Fitting

from .network_rows import copied_fields


def test_noise_grows_from_almost_none_towards_one() -> None:
    variance = dte.noise_variance()
    assert variance[0] == pytest.approx(1e-4, rel=1e-3)
    assert (variance.diff() > 0).all()
    assert 0.8 < variance[-1] < 1


def test_time_bins_are_equally_wide_and_cover_all_steps() -> None:
    counts = torch.bincount(dte.time_bin(torch.arange(dte.STEPS)))
    assert len(counts) == dte.BINS
    assert counts.max() - counts.min() <= 1


def test_the_inverse_gamma_loss_is_least_where_the_scale_is_shape_times_variance() -> None:
    variance, columns = torch.tensor([0.3]), 12
    best = (columns / 2 - 1) * variance
    losses = [float(dte.scale_loss(best * factor, variance, columns)) for factor in (0.9, 1.0, 1.1)]
    assert losses[1] == min(losses)


@pytest.mark.parametrize("variant", list(dte.VARIANTS))
def test_a_row_diffused_for_longer_is_said_to_be(variant: str) -> None:
    normal = np.zeros((256, 20), dtype=np.float32)
    fitting = replace(dte.FITTING, epochs=60, learning_rate=1e-3)
    detector = dte.diffusion_time(variant, fitting=fitting, device="cpu").fit(normal)
    noise = np.random.default_rng(0).normal(size=(300, 20)).astype(np.float32)
    means = [detector.anomaly_score(noise * size).mean() for size in (0.05, 0.4, 0.9)]
    assert means == sorted(means)


@pytest.mark.parametrize("variant", list(dte.VARIANTS))
def test_the_scale_of_a_column_means_nothing_to_diffusion_time(variant: str) -> None:
    rows = copied_fields(40, wrong=True, seed=0)
    rows[:, 5] = 0.0  # a constant column has no scale, and is left at its own
    stretched = rows.copy()
    stretched[:, :5] = 8 * stretched[:, :5] + 4
    detector = dte.diffusion_time(variant, fitting=Fitting(epochs=2), device="cpu")
    scores = detector.fit(rows).anomaly_score(rows)
    assert scores.std() > 0
    np.testing.assert_allclose(detector.fit(stretched).anomaly_score(stretched), scores, rtol=1e-4)


def test_even_a_network_sure_of_the_right_bin_loses_something() -> None:
    logits = 100 * torch.eye(dte.BINS)[[0]]
    loss = dte.TimeBins(4).time_loss(logits, torch.tensor([0]), 4)
    assert float(loss) == pytest.approx(math.log(math.e + dte.BINS - 1) - 1)


def test_least_squares_finds_the_time_of_rows_whose_noise_is_known() -> None:
    normal = np.zeros((256, 50), dtype=np.float32)
    fitting = replace(dte.FITTING, epochs=200, learning_rate=1e-3)
    detector = dte.diffusion_time("gaussian", fitting=fitting, device="cpu").fit(normal)
    time = 200
    noise = np.random.default_rng(0).normal(size=(300, 50)) * float(dte.noise_variance()[time]) ** 0.5
    assert detector.anomaly_score(noise).mean() == pytest.approx(time, abs=30)
