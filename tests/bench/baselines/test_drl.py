"""DRL: fixed directions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.bench.baselines import drl
from maskdiff.bench.baselines.networks import Fitting

from .network_rows import even


def test_directions_are_unit_vectors_at_right_angles() -> None:
    directions = drl.orthogonal(5, 128)
    torch.testing.assert_close(directions @ directions.T, torch.eye(5), atol=1e-5, rtol=0)


def test_directions_are_not_trained() -> None:
    rows = np.eye(8, dtype=np.float32)
    early, late = (
        drl.decomposition(fitting=Fitting(epochs=epochs), device="cpu").fit(rows).network_ for epochs in (1, 9)
    )
    assert torch.equal(early.directions_DZ, late.directions_DZ)


def test_crowding_is_the_mean_cosine_of_two_rows() -> None:
    assert float(drl.crowding(torch.ones(10, 5), even(10))) == pytest.approx(1)
    assert float(drl.crowding(torch.eye(5), even(5))) == pytest.approx(1 / 5)  # each row is like itself alone
