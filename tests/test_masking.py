from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from maskdiff.errors import SettingError
from maskdiff.masking import SCHEDULES, Cosine, Linear, Polynomial, Schedule, as_rows, as_schedule

from .handmade import codes_of, schema_of, views_of

TIMES = torch.linspace(0.01, 0.99, 99, dtype=torch.float64)
QUARTER = math.pi / 2

# name: the schedule, alpha_t, and -alpha'_t / (1 - alpha_t) worked out by hand.
CLOSED_FORMS = {
    "linear": (Linear(), lambda t: 1 - t, lambda t: 1 / t),
    "cosine": (
        Cosine(),
        lambda t: math.cos(QUARTER * t),
        lambda t: QUARTER * math.sin(QUARTER * t) / (1 - math.cos(QUARTER * t)),
    ),
    "square": (Polynomial(), lambda t: 1 - t**2, lambda t: 2 / t),
    "cube root": (Polynomial(1 / 3), lambda t: 1 - t ** (1 / 3), lambda t: 1 / (3 * t)),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_alpha_mask_rate_and_weight_are_the_closed_forms(name):
    schedule, alpha, weight = CLOSED_FORMS[name]
    slow_alpha = [alpha(t) for t in TIMES.tolist()]
    np.testing.assert_allclose(schedule.alpha(TIMES), slow_alpha, rtol=1e-12)
    np.testing.assert_allclose(schedule.mask_rate(TIMES), 1 - np.array(slow_alpha), rtol=1e-12)
    np.testing.assert_allclose(schedule.weight(TIMES), [weight(t) for t in TIMES.tolist()], rtol=1e-8)


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_named_schedule_falls_from_one_to_zero(name):
    alpha = as_schedule(name).alpha(torch.linspace(0, 1, 1001, dtype=torch.float64))
    assert alpha[0] == pytest.approx(1)
    assert alpha[-1] == pytest.approx(0, abs=1e-12)
    assert (alpha.diff() < 0).all()


def test_the_named_schedules_are_the_ones_documented():
    assert {name: as_schedule(name) for name in SCHEDULES} == {
        "linear": Linear(),
        "cosine": Cosine(),
        "polynomial": Polynomial(2.0),
    }


def test_the_weight_is_known_without_gradients_and_carries_none():
    time = torch.tensor([0.25, 0.5])
    with torch.no_grad():
        weight = Polynomial(3.0).weight(time)
    assert not weight.requires_grad
    assert not time.requires_grad
    np.testing.assert_allclose(weight, [12.0, 6.0], rtol=1e-6)


class Bent(Schedule):
    """A schedule that is only what the test makes of it."""

    def __init__(self, alpha):
        self.bend = alpha

    def alpha(self, time):
        return self.bend(time)

    def __repr__(self):
        return "Bent()"


def test_a_schedule_of_ones_own_is_taken_as_it_is():
    mine = Bent(lambda t: (1 - t) ** 2)
    assert as_schedule(mine) is mine
    np.testing.assert_allclose(mine.weight(torch.tensor([0.5])), [4 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    "alpha",
    [
        lambda t: t,
        lambda t: 1 - t + 0.2 * torch.sin(6 * math.pi * t),
        lambda t: 0.5 * (1 - t),
        lambda t: 1 - 0.5 * t,
        lambda t: 2 * (1 - t),
        lambda t: t * float("nan"),
    ],
    ids=["rises", "rises in between", "starts at a half", "ends at a half", "starts above one", "is no number"],
)
def test_a_schedule_that_does_not_fall_from_one_to_zero_is_refused(alpha):
    with pytest.raises(SettingError, match=r"Bent\(\) must fall from about 1 at time 0 to 0 at time 1"):
        as_schedule(Bent(alpha))


def test_an_unknown_schedule_is_refused_with_the_names_there_are():
    with pytest.raises(SettingError, match="'sigmoid'; choose one of linear, cosine, polynomial"):
        as_schedule("sigmoid")


def test_a_schedule_without_alpha_says_what_to_define():
    with pytest.raises(SettingError, match=r"Schedule gives no alpha: define alpha\(time\)"):
        Schedule().alpha(torch.tensor(0.5))


# Fields with the counts (3, 1), (2, 2) and (1, 2, 1).
NORMAL = [[0, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 2]]


def test_known_rows_become_tensors_unchanged():
    rows = as_rows(codes_of(NORMAL))
    assert rows.codes_BF.tolist() == NORMAL
    assert rows.known_BF is None
    assert rows.real_BF is None


def test_an_unseen_value_stands_there_as_the_rarest_code_and_is_marked():
    rows = as_rows(codes_of([[2, 0, 1], [0, 2, 3]], schema_of(NORMAL)))
    assert rows.codes_BF.tolist() == [[1, 0, 1], [0, 0, 0]]
    assert rows.known_BF.tolist() == [[False, True, True], [True, False, False]]


def test_a_row_left_out_does_not_know_the_values_only_it_had():
    rows = as_rows(codes_of(NORMAL), leave_one_out=True)
    alone = [[False, False, True], [False, False, False], [False, False, False], [True, False, True]]
    assert (~rows.known_BF).tolist() == alone
    assert rows.codes_BF.tolist() == [[0, 0, 2], [0, 1, 1], [0, 0, 1], [0, 1, 0]]
    assert rows.own_BF.tolist() == NORMAL


def test_a_row_left_out_is_read_as_if_the_schema_had_been_made_without_it():
    rng = np.random.default_rng(0)
    values = np.stack([rng.integers(0, 3, 40), rng.integers(0, 40, 40)], axis=1)
    values[:, 1] = np.unique(values[:, 1], return_inverse=True)[1]
    rows = as_rows(codes_of(values), leave_one_out=True)
    for i in range(40):
        others = np.delete(values, i, axis=0)
        counts = np.bincount(others[:, 1], minlength=values[:, 1].max() + 1)
        alone = counts[values[i, 1]] == 0
        assert rows.known_BF[i].tolist() == [True, not alone]
        if alone:
            assert counts[rows.codes_BF[i, 1]] == counts[counts > 0].min()


def test_a_view_hides_or_shows_every_known_cell():
    hidden = np.array([[[True, False, False], [False, True, True]]])
    views = views_of(codes_of(NORMAL), hidden)
    assert (views.n_rows, views.n_views) == (4, 2)
    assert views.hidden.tolist() == hidden.tolist()
    assert views.visible.tolist() == (~hidden).tolist()


def test_an_unseen_value_is_asked_for_when_hidden_and_never_shown():
    views = views_of(codes_of([[0, 2, 0]], schema_of(NORMAL)), [[[False, False, False], [True, True, False]]])
    assert views.visible[0].tolist() == [[True, False, True], [False, False, True]]
    assert views.hidden[0].tolist() == [[False, False, False], [True, True, False]]


def test_padding_is_neither_hidden_nor_visible():
    real = np.array([[True, True, False], [True, True, True]])
    views = views_of(codes_of([[0, 1, 0], [1, 0, 2]], schema_of(NORMAL), real), [[[True, False, True]]])
    assert views.hidden[:, 0].tolist() == [[True, False, False], [True, False, True]]
    assert views.visible[:, 0].tolist() == [[False, True, False], [False, True, False]]


def test_a_run_of_rows_keeps_its_own_masks_and_those_all_rows_share():
    own = views_of(codes_of(NORMAL), np.arange(24).reshape(4, 2, 3) % 5 == 0).rows(1, 3)
    assert own.codes_BF.tolist() == NORMAL[1:3]
    assert own.hidden.tolist() == (np.arange(24).reshape(4, 2, 3) % 5 == 0)[1:3].tolist()
    shared = views_of(codes_of(NORMAL), [[[True, False, False]]]).rows(1, 3)
    assert shared.hidden.tolist() == [[[True, False, False]]]
    assert shared.n_rows == 2
