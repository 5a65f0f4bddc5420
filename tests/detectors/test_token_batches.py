"""What training and scoring promise for rows of tokens, whose lengths differ."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from maskdiff.codes import Field, Schema
from maskdiff.errors import SettingError
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.probes import ProbeGrid
from maskdiff.score import AGGREGATES, score_cells
from maskdiff.training import Epochs, Training, train

from .. import handmade

SCHEMA = Schema((Field("text", "token", tuple("abcdef"), (9, 8, 7, 6, 5, 4)),))
CPU = torch.device("cpu")


def windows_of(rows, max_length=64, overlap=16):
    return handmade.windows_of(rows, SCHEMA, max_length=max_length, overlap=overlap)


class Listening(nn.Module):
    """Notes what it is shown."""

    def __init__(self):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(()))
        self.shown = []

    def log_prob(self, views):
        self.shown.append(views)
        return -(self.number**2) * torch.ones(views.n_rows, views.n_views, views.codes_BF.shape[1])


def shown_in_training(rows, epochs=3, batch_size=10):
    network = Listening()
    settings = Training(Epochs(epochs), batch_size=batch_size)
    how = {"objective": Reconstruction((0.5,)), "schedule": Linear(), "settings": settings, "seed": 0, "device": CPU}
    train(network, windows_of(rows), **how)
    return network.shown


def test_every_row_of_tokens_is_shown_once_in_every_pass():
    rows = [[i % 6] * (1 + i) for i in range(40)]
    shown = shown_in_training(rows)
    lengths = [
        int(n)
        for views in shown
        for n in (views.real_BF.sum(1) if views.real_BF is not None else [views.codes_BF.shape[1]] * 10)
    ]
    for one_pass in np.reshape(lengths, (3, 40)):
        assert sorted(one_pass) == list(range(1, 41))


def test_rows_of_about_the_same_length_go_together_and_padding_ends_with_the_longest():
    rng = np.random.default_rng(0)
    rows = [[0] * int(n) for n in rng.integers(1, 60, 200)]
    for views in shown_in_training(rows, epochs=2):
        real = views.real_BF if views.real_BF is not None else torch.ones_like(views.codes_BF, dtype=torch.bool)
        lengths = real.sum(dim=1)
        assert views.codes_BF.shape[1] == lengths.max()
        assert lengths.max() - lengths.min() <= 8


def test_batches_come_in_no_order_of_length():
    rows = [[0] * (1 + i % 50) for i in range(200)]
    widths = [views.codes_BF.shape[1] for views in shown_in_training(rows, epochs=2)]
    assert widths != sorted(widths)
    assert widths[:20] != widths[20:]


def test_the_learning_rate_rises_then_falls_to_nothing():
    rates = [Training(learning_rate=1.0, warmup=0.1).rate(step, 100) for step in range(1, 101)]
    assert rates[:10] == pytest.approx(np.arange(1, 11) / 10)
    assert (np.diff(rates[9:]) < 0).all()
    assert rates[-1] == pytest.approx(0, abs=1e-9)
    assert {Training(learning_rate=0.5).rate(step, 100) for step in (1, 50, 100)} == {0.5}


@pytest.mark.parametrize("warmup", [-0.1, 1.0])
def test_warmup_is_a_share_of_the_steps(warmup):
    with pytest.raises(SettingError, match="0 <= warmup < 1"):
        Training(warmup=warmup)


# Scoring -------------------------------------------------------------------------------------------------------------


class ByCode:
    """Every hidden token is as surprising as its code says; it notes how wide the views are."""

    def __init__(self):
        self.widths = []

    def log_prob(self, views):
        self.widths.append(views.codes_BF.shape[1])
        assert views.real_BF is None
        return -(views.codes_BF + 1.0).unsqueeze(1).expand(-1, views.n_views, -1)

    def most_likely(self, views):
        raise NotImplementedError


def cells_of(codes, design="balanced", empty="skip", views=3):
    return score_cells(ByCode(), codes, probes=ProbeGrid((0.3, 0.6), views, design, empty), schedule=Linear())


def scores_of(codes, aggregate, **how):
    cells = cells_of(codes, **how)
    return np.bincount(cells.row, cells.contributions(aggregate).sum(axis=1))


ROWS = [[0, 1, 2], [5], [3, 3, 4, 1, 0], [], [2, 4] * 8]


def test_no_padding_is_ever_looked_at():
    reconstructor = ByCode()
    score_cells(reconstructor, windows_of(ROWS), probes=ProbeGrid((0.5,), 4), schedule=Linear())
    assert sorted(reconstructor.widths) == [1, 3, 5, 16]


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("design", ["independent", "balanced", "exact"])
@pytest.mark.parametrize("empty", ["skip", "zero"])
def test_a_row_scores_the_same_whatever_rows_stand_beside_it(aggregate, design, empty):
    how = {"design": design, "empty": empty}
    together = scores_of(windows_of(ROWS), aggregate, **how)
    for place, row in enumerate(ROWS):
        # Independent views depend on the place of the row in its table too.
        others = [[0]] * (place if design == "independent" else 0)
        alone = scores_of(windows_of([*others, row]), aggregate, **how)[-1]
        np.testing.assert_allclose(alone, together[place], rtol=1e-6)


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_row_without_tokens_has_no_score_at_all(aggregate):
    assert np.isnan(scores_of(windows_of(ROWS), aggregate)).tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("design", ["independent", "balanced"])
def test_weights_of_a_long_row_add_up_to_one_and_each_token_has_one(design):
    codes = windows_of([[1, 2, 3] * 20, [4]], max_length=16, overlap=5)
    cells = cells_of(codes, design, views=150)
    np.testing.assert_allclose(np.bincount(cells.row, cells.weight.sum(axis=1)), [1, 1], rtol=1e-6)
    assert ((cells.weight > 0) == codes.counts).all()
    np.testing.assert_allclose(cells.weight[codes.row == 0][codes.counts[codes.row == 0]], 1 / 60, rtol=0.35)


@pytest.mark.parametrize(("aggregate", "of_row"), [
    ("mean", lambda surprise, weight: (surprise * weight).sum()),
    ("rms", lambda surprise, weight: np.sqrt((weight * surprise**2).sum())),
    ("max", lambda surprise, weight: surprise[weight > 0].max()),
    ("log_mean_exp", lambda surprise, weight: np.log((weight * np.exp(surprise)).sum())),
])  # fmt: skip
def test_the_windows_of_a_row_are_one_row_to_every_aggregate(aggregate, of_row):
    codes = windows_of([[1, 2, 3, 5] * 9, [4, 0], [0, 1] * 20], max_length=16, overlap=5)
    cells = cells_of(codes)
    assert (np.bincount(codes.row) > 1).tolist() == [True, False, True]
    scores = scores_of(codes, aggregate)
    for row in range(3):
        here = codes.row == row
        expected = of_row(cells.surprise[here].ravel(), cells.weight[here].ravel())
        assert scores[row] == pytest.approx(expected, rel=1e-6)
