"""GOAD: maps and their centres."""

from __future__ import annotations

import torch

from maskdiff.bench.baselines import goad

from .network_rows import even


def test_centre_loss_is_zero_for_centres_that_are_far_apart() -> None:
    features = torch.tensor([[10.0, 0.0], [0.0, 10.0]]).expand(4, 2, 2)
    assert goad.centre_loss(features, even(4)).tolist() == [[0, 0]] * 4


def test_centre_loss_is_the_margin_where_all_features_are_the_same() -> None:
    assert goad.centre_loss(torch.ones(4, 3, 2), even(4)).tolist() == [[goad.MARGIN] * 3] * 4


def test_centre_loss_is_the_margin_less_what_the_nearest_other_centre_is_farther_away() -> None:
    features = torch.tensor([[[0.0], [0.5], [2.0]], [[0.2], [0.5], [2.0]]])
    # The centres are 0.1, 0.5 and 2; seen from the first row, 0.5 is the nearest other one of 0, and 0.1 that of 0.5.
    expected = [[0.1**2 + 1 - 0.5**2, 1 - 0.4**2, 0], [0.1**2 + 1 - 0.3**2, 1 - 0.4**2, 0]]
    torch.testing.assert_close(goad.centre_loss(features, even(2)), torch.tensor(expected))


def test_the_gradient_of_the_centre_loss_is_that_of_all_distances() -> None:
    features = torch.rand(5, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: goad.centre_loss(given, even(5).double()), features)


def test_the_goad_score_is_the_surprise_of_finding_each_map_by_its_centre() -> None:
    torch.manual_seed(0)
    network = goad.MapClassifier(5, n_maps=3)
    rows = torch.rand(4, 5)
    with torch.no_grad():
        network.settle([(rows[:3], even(4)[:3]), (rows[3:], even(4)[3:])])
        features = network.look(rows)
        centres = features.mean(dim=0)
        expected = []
        for row in features:
            distance = torch.tensor([[float((f - c).square().sum()) for c in centres] for f in row])
            expected.append(-sum(float((-distance[m]).softmax(dim=0)[m].log()) for m in range(3)))
        torch.testing.assert_close(network.score(rows), torch.tensor(expected), rtol=1e-3, atol=1e-4)
