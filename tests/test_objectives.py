from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Generator

from maskdiff.errors import SettingError
from maskdiff.masking import Cosine, Linear, Polynomial
from maskdiff.objectives import Diffusion, Reconstruction, as_objective

from .slow_equations import diffusion_loss, reconstruction_loss

LEVELS = (0.2, 0.5, 0.7)


@pytest.fixture
def answers():
    """Log-probabilities and masks of 30 rows of five fields; the first row's view hides nothing."""
    rng = np.random.default_rng(0)
    hidden = rng.random((30, 5)) < 0.4
    hidden[0] = False
    return np.log(rng.random((30, 5))), hidden


def test_the_reconstruction_loss_is_equation_8(answers):
    log_prob, hidden = answers
    loss = Reconstruction(LEVELS).loss(torch.tensor(log_prob), torch.tensor(hidden), torch.zeros(30), Linear())
    assert float(loss) == pytest.approx(reconstruction_loss(log_prob.tolist(), hidden.tolist()), rel=1e-12)


# w(t) = alpha'_t / (1 - alpha_t), by hand.
WEIGHTS = [
    (Linear(), lambda t: -1 / t),
    (Cosine(), lambda t: -math.pi / 2 * math.sin(math.pi * t / 2) / (1 - math.cos(math.pi * t / 2))),
    (Polynomial(3.0), lambda t: -3 / t),
]


@pytest.mark.parametrize(("schedule", "weight"), WEIGHTS)
def test_the_diffusion_loss_is_equation_2(answers, schedule, weight):
    log_prob, hidden = answers
    times = np.random.default_rng(1).uniform(0.05, 0.95, 30)
    loss = Diffusion().loss(torch.tensor(log_prob), torch.tensor(hidden), torch.tensor(times), schedule)
    slow = diffusion_loss(log_prob.tolist(), hidden.tolist(), [weight(t) for t in times])
    assert slow > 0
    assert float(loss) == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize("objective", [Reconstruction(LEVELS), Diffusion()])
def test_only_hidden_cells_are_learned_from(answers, objective):
    log_prob, hidden = (torch.tensor(part) for part in answers)
    log_prob.requires_grad_(True)
    objective.loss(log_prob, hidden, torch.full((30,), 0.5), Linear()).backward()
    assert (log_prob.grad[~hidden] == 0).all()
    assert (log_prob.grad[hidden] < 0).all()


@pytest.mark.parametrize("objective", [Reconstruction(LEVELS), Diffusion()])
def test_a_perfect_reconstructor_pays_nothing(objective):
    nothing = objective.loss(torch.zeros(4, 3), torch.ones(4, 3).bool(), torch.full((4,), 0.3), Linear())
    assert float(nothing) == 0


@pytest.mark.parametrize("schedule", [Linear(), Cosine(), Polynomial(2.0)])
def test_under_any_schedule_the_diffusion_loss_of_even_guesses_is_the_rows_entropy(schedule):
    """Eq. 2 bounds -log p(row): with F cells that are each one of V values at odds, F log V nats, whatever alpha is."""
    generator = Generator().manual_seed(0)
    time = Diffusion().draw_times(200_000, generator=generator)
    hidden = torch.rand(200_000, 4, generator=generator) < schedule.mask_rate(time)[:, None]
    loss = Diffusion().loss(torch.full((200_000, 4), -math.log(3)), hidden, time, schedule)
    assert float(loss) == pytest.approx(4 * math.log(3), rel=0.02)


def test_reconstruction_times_are_the_probed_levels_equally_often():
    times = Reconstruction(LEVELS).draw_times(9000, generator=Generator().manual_seed(0))
    values, counts = times.unique(return_counts=True)
    np.testing.assert_allclose(values, LEVELS)
    assert (counts - 3000).abs().max() < 5 * math.sqrt(9000 * 2 / 9)


def test_diffusion_times_are_spread_evenly_and_never_touch_the_ends():
    times = Diffusion(earliest=0.01).draw_times(500, generator=Generator().manual_seed(0))
    strata = ((times - 0.01) / 0.99 * 500).floor().clamp(0, 499)
    assert len(strata.unique()) > 490  # one in each, but for rounding at the edges
    assert float(times.min()) >= 0.01
    assert float(times.max()) <= 1
    assert (times.diff() < 0).any()  # not in the order of the rows


@pytest.mark.parametrize("objective", [Reconstruction(LEVELS), Diffusion()])
def test_times_come_from_the_generator_handed_in_alone(objective):
    torch.manual_seed(1)
    first = objective.draw_times(50, generator=Generator().manual_seed(5))
    torch.manual_seed(2)
    assert objective.draw_times(50, generator=Generator().manual_seed(5)).equal(first)


def test_objectives_have_names():
    assert as_objective("reconstruction", list(LEVELS)) == Reconstruction(LEVELS)
    assert as_objective("diffusion", LEVELS) == Diffusion()
    mine = Diffusion(earliest=0.1)
    assert as_objective(mine, LEVELS) is mine


def test_an_unknown_objective_is_refused_with_the_names_there_are():
    with pytest.raises(SettingError, match="'likelihood'; choose one of reconstruction, diffusion"):
        as_objective("likelihood", LEVELS)
