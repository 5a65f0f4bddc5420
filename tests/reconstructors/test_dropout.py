"""Dropout by random bytes."""

from __future__ import annotations

import pytest
import torch

from maskdiff.reconstructors.dropout import ByteDropout


def test_dropout_drops_the_share_it_says_and_keeps_the_mean():
    layer = ByteDropout(0.25)
    x = torch.ones(400, 251)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = layer.train()(x)
    assert float((dropped == 0).double().mean()) == pytest.approx(0.25, abs=0.01)
    assert float(dropped.mean()) == pytest.approx(1, abs=0.01)
    assert layer.eval()(x) is x
    assert ByteDropout(0.0).train()(x) is x
