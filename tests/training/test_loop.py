from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.errors import SettingError
from maskdiff.masking import Cosine, Linear, as_rows
from maskdiff.objectives import Diffusion, Reconstruction
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor
from maskdiff.score import score_cells
from maskdiff.training import Epochs, HeldOutLoss, Steps, Training, train
from maskdiff.training.batches import mask_rows
from maskdiff.training.groups import ALONE
from maskdiff.training.loop import _TrainingStep

from ..handmade import codes_of, random_codes, schema_of

CPU = torch.device("cpu")
LEVELS = (0.2, 0.5, 0.8)


class Listening(nn.Module):
    """One number as network; it notes what it is shown and its own value."""

    def __init__(self):
        super().__init__()
        self.number = nn.Parameter(torch.zeros(()))
        self.shown, self.values, self.looks = [], [], 0

    def log_prob(self, views):
        self.looks += not self.training
        if self.training:
            self.shown.append(views)
            self.values.append(float(self.number.detach()))
        return -((self.number - 1) ** 2) * torch.ones(views.n_rows, views.n_views, views.codes_BF.shape[1])


def train_listening(codes, *, settings, objective=None, schedule=None, **more):
    network = Listening()
    objective = objective or Reconstruction(LEVELS)
    schedule = schedule or Linear()
    trained = train(
        network, codes, objective=objective, schedule=schedule, settings=settings, seed=3, device=CPU, **more
    )
    return network, trained


def test_every_row_is_shown_once_in_every_pass():
    codes = codes_of(np.arange(60)[:, None] % 60)
    network, _ = train_listening(codes, settings=Training(Epochs(4), batch_size=20))
    shown = torch.cat([views.codes_BF[:, 0] for views in network.shown]).reshape(4, 60)
    assert all(sorted(one_pass) == list(range(60)) for one_pass in shown.tolist())
    assert shown[0].tolist() != shown[1].tolist()


def test_rows_are_masked_once_at_the_rate_of_their_time():
    codes = random_codes(2000, [3] * 10)
    network, _ = train_listening(codes, settings=Training(Epochs(5), batch_size=500), schedule=Cosine())
    views = network.shown
    rate = torch.cat([view.mask_rate[:, 0] for view in views])
    hidden = torch.cat([view.hidden[:, 0] for view in views]).double()
    wanted = [1 - math.cos(math.pi * level / 2) for level in LEVELS]
    np.testing.assert_allclose(rate.unique(), wanted, rtol=1e-5)
    for each in rate.unique():
        cells = hidden[rate == each]
        assert abs(cells.mean() - each) < 5 * math.sqrt(each * (1 - each) / cells.numel())


@pytest.mark.parametrize(
    ("stop", "steps"),
    [
        (Epochs(3), 3 * 5),
        (Steps(7), 7),
        (Steps(1000, most_epochs=2), 9),
        (Steps(1000, most_epochs=3), 14),
        (HeldOutLoss(at_most=11), 11),
    ],
)
def test_stop_rules_say_how_many_steps(stop, steps):
    network, _ = train_listening(random_codes(90, [2, 3]), settings=Training(stop, batch_size=20))
    assert len(network.shown) == steps


@pytest.mark.parametrize(("n_rows", "batch_size", "steps"), [(3000, 64, 938), (400, 4, 1000), (1500, 8, 1500)])
def test_long_rows_take_at_most_one_step_each_beyond_the_first_thousand(n_rows, batch_size, steps):
    assert Steps(4500, most_epochs=20, most_per_row=1.0).steps(n_rows, batch_size) == steps


def test_a_held_out_loss_that_no_longer_falls_ends_the_training():
    codes = random_codes(200, [2, 3])
    settings = Training(HeldOutLoss(patience=3, at_most=4000), learning_rate=0.5, average=0.0, look_every=5)
    looks = []
    network, _ = train_listening(codes, settings=settings, held_out=codes, callback=looks.append)
    losses = [look.held_out_loss for look in looks]
    best = int(np.argmin(losses))
    assert len(losses) == best + 4
    assert len(network.shown) == 5 * len(losses) < 4000


def test_progress_is_reported_at_every_look_and_at_the_end():
    looks = []
    codes = random_codes(100, [2, 3])
    train_listening(codes, settings=Training(Steps(25), look_every=10), held_out=codes, callback=looks.append)
    assert [(look.stage, look.done, look.total) for look in looks] == [("training", n, 25) for n in (10, 20, 25)]
    assert all(look.loss is not None and look.held_out_loss is not None for look in looks)


@pytest.mark.parametrize(
    ("stop", "callback", "looks"), [(Steps(20), None, 0), (Steps(20), list, 2), (HeldOutLoss(at_most=20), None, 2)]
)
def test_a_held_out_loss_is_computed_only_where_it_is_shown_or_ends_the_training(stop, callback, looks):
    codes = random_codes(50, [3] * 4)
    settings = Training(stop, look_every=10, average=0.0)
    network, _ = train_listening(codes, settings=settings, held_out=codes, callback=callback and (lambda _: None))
    assert network.looks == looks


def test_without_held_out_rows_no_held_out_loss_is_reported():
    looks = []
    train_listening(random_codes(100, [2, 3]), settings=Training(Steps(5)), callback=looks.append)
    assert [look.held_out_loss for look in looks] == [None]


def test_large_gradients_are_scaled_down_and_steps_without_a_finite_one_skipped():
    class Steep(nn.Module):
        """A slope of 100, and one batch in two with none that is finite."""

        def __init__(self, every):
            super().__init__()
            self.number, self.every, self.seen = nn.Parameter(torch.zeros(())), every, 0

        def log_prob(self, views):
            self.seen += 1
            slope = math.inf if self.seen % self.every == 0 else -100.0
            return self.number * slope * torch.ones(views.n_rows, views.n_views, views.codes_BF.shape[1])

    def trained(every, steps):
        settings = Training(Steps(steps), learning_rate=0.1, average=0.0, clip=1.0)
        given = {"objective": Reconstruction(LEVELS), "schedule": Linear(), "settings": settings, "seed": 0}
        return float(train(Steep(every), random_codes(40, [3] * 4), device=CPU, **given).number.detach())

    assert trained(every=2, steps=8) == pytest.approx(trained(every=99, steps=4))
    network = Steep(every=99)
    plain = torch.optim.SGD(network.parameters(), lr=1.0)
    rows = mask_rows(as_rows(random_codes(40, [3] * 4)), Reconstruction(LEVELS), Linear(), torch.Generator())
    _TrainingStep(network, plain, Reconstruction(LEVELS), Linear(), ALONE, clip=0.5)(rows)
    assert abs(float(network.number.detach())) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("average", [0.0, 0.99])
def test_a_training_that_diverges_is_refused_and_says_what_to_change(average):
    class Bursting(Listening):
        def log_prob(self, views):
            return super().log_prob(views) * math.inf

    settings = Training(Steps(3), learning_rate=0.5, average=average)
    with pytest.raises(SettingError, match=r"diverged.* learning_rate below 0\.5"):
        train(
            Bursting(),
            random_codes(40, [3, 3]),
            objective=Reconstruction(LEVELS),
            schedule=Linear(),
            settings=settings,
            seed=0,
            device=CPU,
        )


def test_averaged_weights_follow_the_path_and_forget_its_start():
    codes = random_codes(600, [2, 3])
    settings = {"stop": Steps(40), "learning_rate": 0.02, "weight_decay": 0.0}
    network, last = train_listening(codes, settings=Training(average=0.0, **settings))
    _, average = train_listening(codes, settings=Training(average=0.9, **settings))
    assert last is network
    assert not average.training
    assert not average.number.requires_grad
    # The number rises all the way: an average that still held its start would be near the middle, at a third or so.
    assert network.values == sorted(network.values)
    assert network.values[25] < float(average.number) < float(last.number)


@pytest.mark.parametrize("setting", [{"batch_size": 0}, {"learning_rate": 0.0}, {"average": 1.0}, {"average": -0.1}])
def test_training_refuses_nonsense(setting):
    with pytest.raises(SettingError, match="are needed; got Training"):
        Training(**setting)


# The real network ----------------------------------------------------------------------------------------------------

LENGTH, FLIP = 8, 0.1


@pytest.fixture(scope="module")
def copies():
    """Normal rows whose true conditionals are known: 2,000 to learn from, 500 held out."""
    values = make_noisy_copies(2500, seed=1, length=LENGTH, flip=FLIP)[0].to_numpy()
    schema = schema_of(values[:2000])
    return codes_of(values[:2000], schema), codes_of(values[2000:], schema)


def small(steps=250, **settings):
    return MLPReconstructor(
        width=32, layers=2, dropout=0.0, training=Training(Steps(steps), learning_rate=3e-3), **settings
    )


def fit(reconstructor, codes, *, seed=0, objective=None, **more):
    objective = objective or Reconstruction(LEVELS)
    return reconstructor.fit(codes, objective=objective, schedule=Linear(), seed=seed, device=CPU, **more)


def held_out_surprise(reconstructor, codes):
    """The mean score of held-out rows over all masks: what the reconstruction loss estimates."""
    cells = score_cells(reconstructor, codes, probes=ProbeGrid(LEVELS, 1, "exact", "zero"), schedule=Linear())
    return cells.contributions("mean").sum(axis=1).mean()


class Oracle:
    """The true conditionals, as anybody's own reconstructor."""

    def log_prob(self, views):
        answers = NoisyCopiesOracle(LENGTH, FLIP).log_prob(views.codes_BF.numpy(), views.visible.numpy())
        return torch.from_numpy(answers).float()

    def most_likely(self, views):
        raise NotImplementedError


@pytest.mark.parametrize("objective", [Reconstruction(LEVELS), Diffusion()], ids=["reconstruction", "diffusion"])
def test_training_brings_the_held_out_loss_close_to_the_oracles(copies, objective):
    normal, held_out = copies
    best = held_out_surprise(Oracle(), held_out)
    begun = held_out_surprise(fit(small(steps=1), normal, objective=objective), held_out)
    trained = held_out_surprise(fit(small(), normal, objective=objective), held_out)
    assert best < trained < begun
    assert trained - best < 0.1 * (begun - best)


def test_the_held_out_loss_falls_towards_the_oracles(copies):
    normal, held_out = copies
    looks = []
    fit(small(), normal, held_out=held_out, callback=looks.append)
    losses = [look.held_out_loss for look in looks]
    best = held_out_surprise(Oracle(), held_out)
    assert len(losses) == 5
    assert losses[-1] < losses[0]
    assert losses[-1] == pytest.approx(best, abs=0.05)


def same_weights(one, other):
    pairs = zip(one.network_.state_dict().values(), other.network_.state_dict().values(), strict=True)
    return all(a.equal(b) for a, b in pairs)


@pytest.mark.parametrize("settings", [{"dropout": 0.2}, {"dropout": 0.2, "embedding": 4, "uses_level": True}])
def test_equal_seeds_give_equal_networks_and_others_do_not(copies, settings):
    network = MLPReconstructor(width=16, training=Training(Steps(12)), **settings)
    first = fit(network, copies[0], seed=5)
    torch.rand(3)  # what the global generator did in between does not matter
    assert same_weights(first, fit(network, copies[0], seed=5))
    assert not same_weights(first, fit(network, copies[0], seed=6))


@pytest.mark.parametrize("reconstructor", [small(steps=5, embedding=4), KernelReconstructor()])
def test_neither_fit_nor_score_touches_the_global_generators(copies, reconstructor):
    torch.manual_seed(11)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    fitted = fit(reconstructor, copies[0], held_out=copies[1])
    score_cells(fitted, copies[1], probes=ProbeGrid(LEVELS, 4, "independent"), schedule=Linear())
    assert torch.get_rng_state().equal(before)
    assert np.random.get_state()[1].tolist() == numpy_before  # noqa: NPY002


def test_fit_leaves_the_settings_it_was_called_on_unfitted(copies):
    settings = small(steps=2)
    fitted = fit(settings, copies[0])
    assert fitted is not settings
    assert not hasattr(settings, "network_")
