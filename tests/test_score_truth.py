"""Scores beside those of the true conditional distributions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import KernelReconstructor, Reconstructor

from .handmade import codes_of
from .scoring import CPU, LEVELS, fit_mlp, scores_of
from .slow_equations import expected_score

LENGTH, FLIP = 10, 0.08


class Oracle:
    """The true conditionals of noisy copies, as anybody's own reconstructor."""

    def log_prob(self, views):
        answers = NoisyCopiesOracle(LENGTH, FLIP).log_prob(views.codes_BF.numpy(), views.visible.numpy())
        return torch.from_numpy(answers).float()

    def most_likely(self, views):
        raise NotImplementedError


@pytest.fixture(scope="module")
def copies():
    """Normal rows to learn from; new rows, half of them anomalies, and which."""
    normal = codes_of(make_noisy_copies(3000, seed=1, length=LENGTH, flip=FLIP)[0].to_numpy())
    X, y = make_noisy_copies(400, seed=2, mixture=0.5, length=LENGTH, flip=FLIP)
    return normal, codes_of(X.to_numpy(), normal.schema), y


def test_the_oracle_is_a_reconstructor_and_scores_as_the_equations_say(copies):
    assert isinstance(Oracle(), Reconstructor)
    _, codes, _ = copies
    codes = codes.take(slice(0, 5))
    scores = scores_of(Oracle(), codes, ProbeGrid(LEVELS, 1, "exact"))
    oracle = NoisyCopiesOracle(LENGTH, FLIP)
    for row, found in zip(codes.values, scores, strict=True):

        def log_prob(j, view, row=row):
            return float(oracle.log_prob(row.astype(np.int64), ~np.array(view))[j])

        slow = expected_score([1 - level for level in LEVELS], LENGTH, log_prob, skip_empty=True)
        assert found == pytest.approx(slow, rel=1e-5)


@pytest.mark.parametrize("name", ["kernel", "mlp"])
def test_what_is_learned_from_many_rows_scores_nearly_as_the_truth_would(copies, name):
    normal, codes, y = copies
    make = {
        "kernel": lambda: KernelReconstructor(1.5).fit(normal, device=CPU),
        "mlp": lambda: fit_mlp(normal, steps=500),
    }[name]
    grid = ProbeGrid(LEVELS, 1, "exact")
    truth, learned = scores_of(Oracle(), codes, grid), scores_of(make(), codes, grid)
    assert np.corrcoef(truth, learned)[0, 1] > 0.97
    assert learned[y == 0].mean() == pytest.approx(truth[y == 0].mean(), rel=0.1)
    assert learned[y == 1].mean() > learned[y == 0].mean()
