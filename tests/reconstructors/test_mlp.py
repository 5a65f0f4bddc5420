from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional

from maskdiff.masking import Linear, MaskedViews
from maskdiff.objectives import Reconstruction
from maskdiff.reconstructors import MLPReconstructor, Reconstructor
from maskdiff.state import arguments_to_plain
from maskdiff.training import Epochs, Steps, Training

from ..handmade import codes_of, random_codes, random_hidden, schema_of, views_of

SIZES = [2, 1, 3, 9, 40, 300, 3]
KINDS = {
    "one-hot": {},
    "embedding": {"embedding": 5},
    "level": {"uses_level": True},
    "paper": {"embedding": 5, "uses_level": True},
}


@pytest.fixture(scope="module")
def codes():
    """400 rows with fields of very different sizes."""
    return random_codes(400, SIZES)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request, codes):
    """Each variant of the network after a few steps."""
    reconstructor = MLPReconstructor(width=16, training=Training(Steps(8), average=0.0), **KINDS[request.param])
    cpu = torch.device("cpu")
    return reconstructor.fit(codes, objective=Reconstruction((0.3, 0.6)), schedule=Linear(), seed=0, device=cpu)


@pytest.fixture
def views(codes):
    return views_of(codes.take(slice(0, 12)), random_hidden(12, 3, len(SIZES)))


def with_codes(views, codes_BF):
    return MaskedViews(codes_BF, views.hidden, views.visible, views.mask_rate)


def test_it_answers_the_protocol(fitted, views):
    assert isinstance(fitted, Reconstructor)
    assert fitted.log_prob(views).shape == (12, 3, len(SIZES))
    guess, log_prob = fitted.most_likely(views)
    assert guess.shape == log_prob.shape == (12, 3, len(SIZES))


@pytest.mark.parametrize("j", range(len(SIZES)))
def test_probabilities_of_a_fields_codes_add_up_to_one(fitted, codes, j):
    row = np.repeat(codes.values[:1], SIZES[j], axis=0)
    row[:, j] = np.arange(SIZES[j])
    hidden = random_hidden(1, 4, len(SIZES), seed=j)
    hidden[:, :, j] = True
    total = fitted.log_prob(views_of(codes_of(row, codes.schema), hidden))[:, :, j].double().exp().sum(dim=0)
    np.testing.assert_allclose(total, 1, rtol=1e-5)


def test_the_code_of_a_hidden_cell_changes_nothing_but_its_own_answer(fitted, views, codes):
    before = fitted.log_prob(views)
    for j, size in enumerate(SIZES):
        other = views.codes_BF.clone()
        other[:, j] = (other[:, j] + 1) % size
        after = fitted.log_prob(with_codes(views, other))
        hidden = views.hidden[:, :, j]
        keep = torch.arange(len(SIZES)) != j
        torch.testing.assert_close(after[hidden][:, keep], before[hidden][:, keep])


def test_visible_cells_do_matter(fitted, views):
    before = fitted.log_prob(views)
    other = views.codes_BF.clone()
    other[:, 0] = 1 - other[:, 0]
    visible = views.visible[:, :, 0]
    assert (fitted.log_prob(with_codes(views, other))[visible] - before[visible]).abs().amax(dim=1).min() > 1e-6


def test_what_stands_in_an_unseen_cell_is_not_looked_at(fitted, codes):
    """An unseen value is neither hidden nor visible: whatever code stands in for it, the others' answers stay."""
    row = codes.values[:1].copy()
    row[0, 4] = SIZES[4]
    hidden = np.zeros((1, 1, len(SIZES)), dtype=bool)
    hidden[0, 0, 0] = True
    views = views_of(codes_of(row, codes.schema), hidden)
    before = fitted.log_prob(views)[0, 0, 0]
    for stand_in in (0, 7, 39):
        other = views.codes_BF.clone()
        other[0, 4] = stand_in
        torch.testing.assert_close(fitted.log_prob(with_codes(views, other))[0, 0, 0], before)


def test_the_level_matters_only_where_the_network_is_told_it(fitted, views):
    low, high = (
        fitted.log_prob(MaskedViews(views.codes_BF, views.hidden, views.visible, torch.full((1, 3), rate)))
        for rate in (0.1, 0.9)
    )
    assert low.equal(high) == (not fitted.uses_level)


def test_the_likeliest_code_is_the_one_with_the_highest_probability(fitted, codes):
    hidden = random_hidden(5, 2, len(SIZES), seed=3)
    views = views_of(codes.take(slice(0, 5)), hidden)
    guess, best = fitted.most_likely(views)
    for j, size in enumerate(SIZES):
        alternatives = []
        for code in range(size):
            other = views.codes_BF.clone()
            other[:, j] = code
            alternatives.append(fitted.log_prob(with_codes(views, other))[:, :, j])
        slow_best, slow_guess = torch.stack(alternatives).max(dim=0)
        hidden = views.hidden[:, :, j]
        assert guess[:, :, j][hidden].equal(slow_guess[hidden])
        torch.testing.assert_close(best[:, :, j][hidden], slow_best[hidden])


def test_looking_up_and_multiplying_give_the_same_first_layer(fitted, views):
    answers = []
    for gain in (0, 10**9):
        fitted = copy.deepcopy(fitted)
        fitted.network_.product_gain = gain
        answers.append(fitted.log_prob(views))
    torch.testing.assert_close(*answers, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows_at_once", [1 << 22, 1])
def test_masks_shared_by_all_rows_are_answered_like_masks_of_their_own(fitted, codes, rows_at_once):
    fitted = copy.copy(fitted)
    fitted.fewest_sharing, fitted.floats_at_once = 1, rows_at_once
    values = codes.values[:9].copy()
    values[::2, 3] = SIZES[3]  # unseen, so no context
    rows = codes_of(values, codes.schema)
    shared = random_hidden(1, 4, len(SIZES))
    shared[0, 0], shared[0, 1] = True, False
    own = np.repeat(shared, 9, axis=0)
    found, expected = fitted.log_prob(views_of(rows, shared)), fitted.log_prob(views_of(rows, own))
    torch.testing.assert_close(found[own], expected[own])


def test_answers_do_not_depend_on_how_many_rows_are_asked_at_once(fitted, views):
    fitted = copy.copy(fitted)
    at_once = fitted.log_prob(views), *fitted.most_likely(views)
    fitted.floats_at_once = 1
    one_by_one = fitted.log_prob(views), *fitted.most_likely(views)
    torch.testing.assert_close(at_once, one_by_one)
    torch.testing.assert_close(fitted.log_prob(views.rows(4, 5)), at_once[0][4:5])


def test_no_rows_get_no_answers(fitted, views):
    assert fitted.log_prob(views.rows(0, 0)).shape == (0, 3, len(SIZES))


def explicit_log_prob(network, views, sizes):
    """The paper's network cell by cell: embed every cell or its mask, concatenate, add the level, one head a field."""
    layout = network.layout
    answer = torch.empty(views.n_rows, views.n_views, len(sizes))
    weight = torch.cat(list(network.mix_FEH))  # (F * E, H): one linear layer on the concatenated embeddings
    for b in range(views.n_rows):
        for k in range(views.n_views):
            parts = []
            for j in range(len(sizes)):
                place = layout.start_F[j] + views.codes_BF[b, j] * layout.stride_F[j]
                parts.append(network.codes_PE[place] if views.visible[b, k, j] else network.mask_FE[j])
            x = torch.cat(parts) @ weight + network.bias_H
            if network.level is not None:
                x = x + network.level(views.mask_rate[0, k].reshape(1))
            x = functional.relu(x)
            for layer in network.hidden:
                x = functional.relu(layer(x))
            for j, size in enumerate(sizes):
                places = layout.start_F[j] + torch.arange(size) * layout.stride_F[j]
                logits = network.head.weight[places] @ x + network.head.bias[places]
                answer[b, k, j] = logits.log_softmax(dim=0)[views.codes_BF[b, j]]
    return answer


@pytest.mark.parametrize("uses_level", [True, False])
def test_the_folded_first_layer_is_the_layer_on_concatenated_embeddings(codes, views, uses_level):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        settings = MLPReconstructor(width=12, layers=3, embedding=6, uses_level=uses_level)
        network = settings.build(codes.schema).eval()
    with torch.no_grad():
        explicit = explicit_log_prob(network, views, SIZES)
    plain, weights = arguments_to_plain(settings), network.state_dict()
    same = MLPReconstructor.from_state(plain, weights, schema=codes.schema, device=torch.device("cpu"))
    torch.testing.assert_close(same.log_prob(views), explicit, rtol=1e-4, atol=1e-4)


def test_the_papers_network_has_the_papers_settings():
    paper = MLPReconstructor.paper()
    network = paper.build(schema_of([[0, 0], [1, 2]], [2, 3]))
    assert paper.uses_level
    assert network.codes_PE.shape[1] == network.mask_FE.shape[1] == 256
    assert network.mix_FEH.shape == (2, 256, 512)
    assert [layer.weight.shape for layer in network.hidden] == [(512, 512)] * 2
    assert paper.dropout == 0.1
    training = paper.training
    assert (training.stop, training.learning_rate, training.weight_decay) == (Epochs(20), 1e-3, 1e-5)
    assert (training.batch_size, training.average, training.warmup) == (512, 0, 0)
