"""Deep SVDD: a fixed centre, and distances from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from maskdiff.bench.baselines import deep_svdd

ROWS = np.random.default_rng(0).random((40, 6)).astype(np.float32)
SHORT = replace(deep_svdd.FITTING, epochs=2)


def test_the_centre_is_the_mean_of_the_first_features_kept_away_from_zero() -> None:
    torch.manual_seed(0)
    sphere = deep_svdd.Hypersphere(6)
    rows = torch.as_tensor(ROWS)
    with torch.no_grad():
        shares = torch.full((20,), 1 / 40)
        sphere.begin([(rows[:20], shares), (rows[20:], shares)])
        mean = sphere.network(rows).mean(dim=0)
    for found, wanted in zip(sphere.centre_Z.tolist(), mean.tolist(), strict=True):
        assert found == pytest.approx(wanted if abs(wanted) >= 0.1 else np.sign(wanted) * 0.1, abs=1e-6)


def test_the_centre_stays_and_the_score_is_the_squared_distance_from_it() -> None:
    torch.manual_seed(0)
    detector = deep_svdd.hypersphere(fitting=SHORT, device="cpu").fit(ROWS)
    sphere = detector.network_
    with torch.no_grad():
        apart = (sphere.network(torch.as_tensor(ROWS)) - sphere.centre_Z).numpy()
    np.testing.assert_allclose(detector.anomaly_score(ROWS), (apart**2).sum(axis=1), rtol=1e-5)
    assert np.abs(sphere.centre_Z.numpy()).min() >= 0.1 - 1e-6


def test_no_layer_has_a_bias_and_the_sizes_are_the_librarys() -> None:
    linear = [layer for layer in deep_svdd.Hypersphere(6).network if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(6, 100), (100, 50), (50, 128)]
    assert all(layer.bias is None for layer in linear)


def test_training_brings_normal_rows_closer_to_the_centre() -> None:
    far, near = (
        deep_svdd.hypersphere(fitting=replace(SHORT, epochs=epochs), device="cpu").fit(ROWS).anomaly_score(ROWS).mean()
        for epochs in (1, 20)
    )
    assert near < far / 2
