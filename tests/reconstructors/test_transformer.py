from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from maskdiff.codes import Field, Schema
from maskdiff.codes.windows import narrowed
from maskdiff.errors import SettingError
from maskdiff.masking import Linear, as_rows
from maskdiff.objectives import Diffusion, Reconstruction
from maskdiff.reconstructors import Reconstructor, TransformerReconstructor
from maskdiff.training import Epochs, Steps, Training

from .. import handmade
from ..handmade import random_codes

CPU = torch.device("cpu")
SIZE = 6
SCHEMA = Schema((Field("text", "token", tuple("abcdef"), (9, 8, 7, 6, 5, 4)),))
LEVELS = (0.2, 0.5, 0.8)


def windows_of(*rows):
    return handmade.windows_of(rows, SCHEMA, max_length=32, overlap=8)


def random_rows(n, seed=0, shortest=1, longest=9):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, SIZE, rng.integers(shortest, longest + 1)) for _ in range(n)]


def tiny(steps=3, **settings):
    training = Training(Steps(steps), batch_size=16, learning_rate=0.01, average=0.0, warmup=0.1)
    shape = {"width": 16, "heads": 2, "feed_forward": 32, "dropout": 0.0} | settings
    return TransformerReconstructor(training=training, **shape)


def fit(reconstructor, codes, *, objective=None, seed=0, **more):
    objective = objective or Reconstruction(LEVELS)
    return reconstructor.fit(codes, objective=objective, schedule=Linear(), seed=seed, device=CPU, **more)


VARIANTS = {
    "rotary": {},
    "learned": {"positions": "learned"},
    "with the level": {"uses_level": True},
    "one layer": {"layers": 1},
    "in groups": {"cutoffs": (2, 4)},
}
each_variant = pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)


@pytest.fixture(scope="module")
def fitted():
    return fit(tiny(steps=20), windows_of(*random_rows(60)))


def views_of(codes, hidden, rate=0.5):
    hidden = torch.as_tensor(hidden)
    return as_rows(codes).views(hidden, torch.full((1, hidden.shape[1]), rate))


def random_views(codes, n_views=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.rand(len(codes), n_views, codes.values.shape[1], generator=generator) < 0.5
    return views_of(codes, hidden)


def test_it_is_a_reconstructor(fitted):
    assert isinstance(fitted, Reconstructor)


@each_variant
def test_probabilities_of_all_codes_add_up_to_one(settings):
    reconstructor = fit(tiny(**settings), windows_of(*random_rows(30)))
    hidden = [[[False, True, True, False]]]
    total = sum(
        reconstructor.log_prob(views_of(windows_of([0, code, 3, 4]), hidden))[0, 0, 1].exp() for code in range(SIZE)
    )
    assert float(total) == pytest.approx(1, abs=1e-5)


@each_variant
def test_training_and_scoring_answer_alike(settings):
    codes = windows_of(*random_rows(12))
    reconstructor = fit(tiny(**settings), codes)
    views = random_views(codes)
    with torch.no_grad():
        np.testing.assert_allclose(reconstructor.network_.log_prob(views), reconstructor.log_prob(views), atol=1e-5)


@each_variant
def test_what_is_hidden_has_no_part_in_the_answers(settings):
    reconstructor = fit(tiny(**settings), windows_of(*random_rows(30)))
    hidden = [[[False, True, True, False]]]
    here, there = (reconstructor.log_prob(views_of(windows_of([1, 2, code, 3]), hidden)) for code in (0, 5))
    assert here[0, 0, 1] == there[0, 0, 1]


def test_what_is_visible_has_a_part_in_the_answers(fitted):
    hidden = [[[False, True, True, False]]]
    here, there = (fitted.log_prob(views_of(windows_of([1, 2, 3, code]), hidden)) for code in (0, 5))
    assert abs(float(here[0, 0, 1] - there[0, 0, 1])) > 1e-5


def test_an_unseen_token_looks_like_a_hidden_one(fitted):
    hidden = [[[False, True, False]]]
    unseen = fitted.log_prob(views_of(windows_of([SIZE, 2, 3]), hidden))
    masked = fitted.log_prob(views_of(windows_of([1, 2, 3]), [[[True, True, False]]]))
    # Products of one row and of two may be rounded differently.
    torch.testing.assert_close(unseen[0, 0, 1], masked[0, 0, 1], rtol=1e-6, atol=0)


@each_variant
def test_padding_does_not_change_an_answer(settings):
    rows = random_rows(8)
    codes = windows_of(*rows)
    reconstructor = fit(tiny(**settings), codes)
    views = random_views(codes)
    together = reconstructor.log_prob(views)
    for i, row in enumerate(rows):
        alone = views_of(narrowed(codes.take([i])), views.hidden[i : i + 1, :, : len(row)])
        np.testing.assert_allclose(reconstructor.log_prob(alone)[0], together[i, :, : len(row)], atol=1e-5)
        assert (together[i, :, len(row) :] == 0).all()


@pytest.mark.parametrize(("tokens", "logits"), [(1, 1), (7, 20), (1 << 20, 1 << 20)])
def test_how_much_is_computed_at_once_does_not_matter(fitted, tokens, logits):
    views = random_views(windows_of(*random_rows(6, seed=3)))
    usual = fitted.log_prob(views), *fitted.most_likely(views)
    fitted = copy.deepcopy(fitted)
    fitted.network_.tokens_at_once, fitted.network_.logits_at_once = (tokens, tokens), (logits, logits)
    for before, now in zip(usual, (fitted.log_prob(views), *fitted.most_likely(views)), strict=True):
        np.testing.assert_allclose(before, now, atol=1e-5)


class InParts(TransformerReconstructor):
    def build(self, schema):
        network = super().build(schema)
        network.logits_at_once = (40, 40)
        return network


def test_the_gradient_is_the_same_where_logits_are_computed_in_parts():
    codes, settings = windows_of(*random_rows(20)), tiny(steps=4)
    whole = fit(settings, codes)
    parts = fit(InParts(**vars(settings)), codes)
    for one, other in zip(whole.network_.parameters(), parts.network_.parameters(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_masks_that_all_rows_share_are_answered_as_masks_of_their_own(fitted):
    codes = windows_of(*random_rows(5, shortest=6, longest=6))
    shared = torch.rand(1, 3, 6, generator=torch.Generator().manual_seed(0)) < 0.5
    np.testing.assert_allclose(
        fitted.log_prob(views_of(codes, shared)), fitted.log_prob(views_of(codes, shared.expand(5, 3, 6))), atol=1e-6
    )


def test_views_that_hide_nothing_are_answered_with_nothing(fitted):
    codes = windows_of([1, 2, 3])
    assert (fitted.log_prob(views_of(codes, [[[False] * 3]])) == 0).all()


def test_the_likeliest_code_is_the_one_with_the_highest_probability(fitted):
    hidden = [[[False, True, False, True]]]
    rows = [[1, code, 3, 4] for code in range(SIZE)]
    of_each = [float(fitted.log_prob(views_of(windows_of(row), hidden))[0, 0, 1]) for row in rows]
    codes, log_prob = fitted.most_likely(views_of(windows_of(rows[0]), hidden))
    assert int(codes[0, 0, 1]) == int(np.argmax(of_each))
    assert float(log_prob[0, 0, 1]) == pytest.approx(max(of_each), abs=1e-5)


def test_the_level_matters_only_where_it_is_told():
    codes = windows_of(*random_rows(20))
    for uses_level in (False, True):
        reconstructor = fit(tiny(uses_level=uses_level), codes)
        low, high = (reconstructor.log_prob(views_of(codes.take([0]), [[[True] * 9]], rate)) for rate in (0.1, 0.9))
        assert low.equal(high) is not uses_level
        assert reconstructor.uses_level is uses_level


@pytest.mark.parametrize("positions", ["rotary", "learned"])
def test_it_sees_where_a_token_stands(positions):
    """Rows count upwards from any start: only the distance to a visible token tells what is hidden."""
    rows = [(np.arange(6) + start) % SIZE for start in range(SIZE)] * 10
    reconstructor = fit(tiny(steps=350, positions=positions), windows_of(*rows))
    hidden = [[[True, True, False, True, True, True]]]
    codes, _ = reconstructor.most_likely(views_of(windows_of([3, 4, 5, 0, 1, 2]), hidden))
    assert codes[0, 0, [0, 1, 3, 4, 5]].tolist() == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("objective", [Reconstruction(LEVELS), Diffusion()], ids=["reconstruction", "diffusion"])
def test_both_objectives_learn_from_rows_of_any_length(objective):
    rows = [[start] * length for start in range(SIZE) for length in (1, 2, 5, 8)] * 5
    reconstructor = fit(tiny(steps=150), windows_of(*rows), objective=objective)
    same, other = (windows_of([2, 2, 2, code, 2]) for code in (2, 4))
    hidden = [[[False, False, False, True, False]]]
    assert float(reconstructor.log_prob(views_of(same, hidden))[0, 0, 3].exp()) > 0.8
    assert float(reconstructor.log_prob(views_of(other, hidden))[0, 0, 3].exp()) < 0.05


def test_equal_seeds_give_equal_networks_and_others_do_not():
    codes = windows_of(*random_rows(40))

    def weights(seed):
        return torch.cat([w.flatten() for w in fit(tiny(dropout=0.2), codes, seed=seed).network_.parameters()])

    first = weights(5)
    torch.rand(3)  # what the global generator did in between does not matter
    assert first.equal(weights(5))
    assert not first.equal(weights(6))


def test_fit_leaves_the_settings_it_was_called_on_unfitted():
    settings = tiny()
    assert fit(settings, windows_of(*random_rows(20))) is not settings
    assert not hasattr(settings, "network_")


def test_the_papers_size_is_the_papers():
    paper = TransformerReconstructor.paper()
    shape = (paper.layers, paper.width, paper.heads, paper.feed_forward, paper.dropout)
    assert shape == (8, 512, 16, 2048, 0.1)
    assert paper.training.stop == Epochs(20)
    assert (paper.training.learning_rate, paper.training.weight_decay) == (1e-3, 1e-5)
    assert paper.uses_level


def test_tables_are_refused():
    with pytest.raises(SettingError, match="the table has 3 columns"):
        fit(tiny(), random_codes(20, [2, 3, 4]))


def test_learned_positions_end_somewhere_and_say_so():
    with pytest.raises(SettingError, match=r"reach up to 4 tokens.*positions=\"rotary\""):
        fit(tiny(positions="learned", longest=4), windows_of([0, 1, 2, 3, 4, 5]))


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 0},
        {"layers": 0},
        {"heads": 3},
        {"dropout": 1.0},
        {"positions": "sine"},
        {"longest": 0},
        {"cutoffs": (3, 3)},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(SettingError, match="must"):
        TransformerReconstructor(**settings)
