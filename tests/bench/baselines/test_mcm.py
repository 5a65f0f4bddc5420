"""MCM: learned masks."""

from __future__ import annotations

import math

import pytest
import torch

from maskdiff.bench.baselines import mcm


def test_masks_at_right_angles_are_less_alike_than_equal_ones() -> None:
    apart = mcm.likeness(torch.eye(4)[None])
    equal = mcm.likeness(torch.ones(1, 4, 4))
    assert float(apart) == pytest.approx(4 / 3)
    assert float(equal) == pytest.approx(4 / 3 + 4 / mcm.TEMPERATURE / (3 * math.log(3)))


def test_the_mcm_score_is_the_mean_distance_of_the_restored_rows() -> None:
    network = mcm.MaskedCells(4, n_masks=3)
    with torch.no_grad():
        for layer in network.decode.parameters():
            layer.zero_()  # every restored row is zero
        rows = torch.tensor([[3.0, 4.0, 0.0, 0.0]])
        assert network.score(rows).tolist() == [5.0]


def test_all_mask_networks_at_once_are_the_networks_one_by_one() -> None:
    torch.manual_seed(0)
    network, rows = mcm.MaskedCells(5, n_masks=3), torch.rand(2, 5)
    first, second, third = network.mask_layers
    one_by_one = [((rows @ first[m]).relu() @ second[m]).relu() @ third[m] for m in range(3)]
    torch.testing.assert_close(network.masks(rows), torch.stack(one_by_one, dim=1))
