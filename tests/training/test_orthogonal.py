"""Orthogonal steps for the matrices of a transformer."""

import numpy as np
import pytest
import torch
from torch import nn

from maskdiff.errors import SettingError
from maskdiff.masking import Linear
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor
from maskdiff.training import Epochs, Steps, StopPart, Training, orthogonal, seeded, train
from maskdiff.training.adamw import FusedAdamW
from maskdiff.training.loop import _optimiser
from maskdiff.training.orthogonal import OrthogonalSteps

from ..handmade import random_codes, schema_of, windows_of
from .test_groups import MemoryStore

RATE, FACTOR = 1e-2, 2.0
SHAPE = TransformerReconstructor(16, 1, 2, 32, dropout=0.2, cutoffs=(4,))


@pytest.fixture(params=[True, False], ids=["half", "single"])
def processor(request, monkeypatch):
    """A processor with or without products in bfloat16."""
    monkeypatch.setattr(orthogonal, "has_half_products", lambda: request.param)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    rows = [[(first + at) % 6 for at in range(6)] for first in rng.integers(0, 6, 60)]
    return windows_of(rows, schema_of([[at] for row in rows for at in row]))


def steps_of(*shapes):
    torch.manual_seed(0)
    matrices = [nn.Parameter(torch.randn(shape)) for shape in shapes]
    bias = nn.Parameter(torch.randn(3))
    return matrices, bias, OrthogonalSteps(matrices, RATE, FACTOR, FusedAdamW([bias], RATE, weight_decay=0.0))


def test_singular_values_become_nearly_equal(processor):
    torch.manual_seed(0)
    given = torch.randn(3, 8, 1) * torch.randn(3, 1, 20) + 0.05 * torch.randn(3, 8, 20)  # nearly of rank one
    assert (torch.linalg.svdvals(given)[:, 0] > 10 * torch.linalg.svdvals(given)[:, 1]).all()
    found = torch.linalg.svdvals(orthogonal.orthogonal(given))
    assert ((found > 0.6) & (found < 1.3)).all()


def test_a_step_goes_down_the_gradient_as_far_as_the_rate_says(processor):
    matrices, bias, optimiser = steps_of((6, 4), (4, 6), (5, 5))
    before = [matrix.detach().clone() for matrix in (*matrices, bias)]
    for weight in (*matrices, bias):
        weight.grad = torch.randn_like(weight)
    optimiser.step()
    for weight, old in zip((*matrices, bias), before, strict=True):
        moved = weight.detach() - old
        assert (moved * weight.grad).sum() < 0
        if weight is not bias:
            length = 0.2 * FACTOR * RATE * max(weight.shape) ** 0.5
            assert (torch.linalg.svdvals(moved) / length - 1).abs().max() < 0.4


def test_a_matrix_without_a_gradient_stays():
    matrices, bias, optimiser = steps_of((4, 6), (4, 6))
    before = matrices[1].detach().clone()
    matrices[0].grad, bias.grad = torch.ones(4, 6), torch.ones(3)
    optimiser.step()
    assert matrices[1].equal(before)
    optimiser.zero_grad()
    assert matrices[0].grad is None
    assert bias.grad is None


def test_only_the_matrices_inside_a_transformer_take_such_steps(rows):
    network, settings = SHAPE.build(rows.schema), Training()
    optimiser = _optimiser(network, settings, FACTOR, recordable=False)
    assert isinstance(optimiser, OrthogonalSteps)
    assert {
        name for name, weight in network.named_parameters() if any(weight is one for one in optimiser.matrices)
    } == {f"blocks.0.{name}.weight" for name in ("mix_in", "mix_out", "up", "down")}
    assert sum(len(group["params"]) for group in optimiser.param_groups) == len(list(network.parameters()))
    table = MLPReconstructor(8).build(random_codes(5, [3, 3]).schema)
    assert isinstance(_optimiser(table, settings, FACTOR, recordable=False), FusedAdamW)


def trained(rows, **how):
    settings = Training(Steps(12), batch_size=8, look_every=6, warmup=0.1, orthogonal=FACTOR)
    given = {"objective": Reconstruction((0.3,)), "schedule": Linear(), "seed": 3, "device": torch.device("cpu")}
    return train(seeded(0, lambda: SHAPE.build(rows.schema)), rows, settings=settings, **given, **how).state_dict()


def test_a_resumed_run_ends_with_the_same_weights(rows):
    store = MemoryStore(at=6)
    whole = trained(rows, checkpoint=store)
    resumed = trained(rows, checkpoint=MemoryStore(kept=store.kept))
    assert all(weight.equal(resumed[name]) for name, weight in whole.items())


@pytest.mark.parametrize(("n_rows", "factor"), [(1500, FACTOR), (400, FACTOR), (4000, 0.0), (100, 0.0)])
def test_a_training_that_is_cut_short_takes_them_others_do_not(n_rows, factor):
    stop = Steps(4000, most_epochs=20, most_per_row=1.0)  # of 100 rows all passes are within the first thousand steps
    settings = Training(stop, orthogonal_if_short=FACTOR)
    assert settings.orthogonal_factor(n_rows, 4) == factor
    assert StopPart(n_rows, 0.25).of(stop).cuts_short(1, 4) is bool(factor)
    assert Training(stop, orthogonal=5.0).orthogonal_factor(n_rows, 4) == 5.0
    assert Training(Epochs(3), orthogonal_if_short=FACTOR).orthogonal_factor(n_rows, 4) == 0.0


@pytest.mark.parametrize("name", ["orthogonal", "orthogonal_if_short"])
def test_a_factor_below_zero_is_refused(name):
    with pytest.raises(SettingError, match="must be 0"):
        Training(**{name: -1.0})
