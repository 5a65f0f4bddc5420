"""DATE, CVDD and FATE: what makes each of them that method, on texts whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Generator

from maskdiff.bench.baselines import cvdd, date, fate
from maskdiff.bench.baselines.attention_heads import AttentionHeads, overlap
from maskdiff.bench.baselines.networks import Fitting
from maskdiff.bench.baselines.token_vectors import EncoderVectors, WordVectors
from maskdiff.errors import InputError

from ...embedder_folder import save_embedder

WORDS, LENGTH = 12, 16


def topics(n: int, seed: int, *, odd: bool = False) -> Any:
    """Texts about the first or the second four words; odd ones about the last four. Code 0 is no word."""
    rng = np.random.default_rng(seed)
    return 4 * (2 if odd else rng.integers(2, size=(n, 1))) + rng.integers(1, 5, size=(n, LENGTH))


def of_any_length(n: int, seed: int) -> torch.Tensor:
    """Such texts, cut."""
    lengths = np.random.default_rng(seed).integers(5, LENGTH + 1, size=(n, 1))
    return torch.as_tensor(np.where(np.arange(LENGTH) < lengths, topics(n, seed), 0))


def test_the_settings_are_those_of_the_authors() -> None:
    optimiser: Any = {"weight_decay": 0.1, "decoupled": True, "amsgrad": True, "longest_gradient": 1.0}
    assert Fitting(epochs=20, batch_size=16, learning_rate=1e-5, **optimiser) == date.FITTING
    assert date.FIRST_WEIGHTS == 0.02
    assert (date.PATTERNS, date.COVERED, date.REPLACED_WEIGHT, date.PATTERN_WEIGHT) == (50, 0.5, 50, 100)
    assert (date.EMBEDDING, date.HIDDEN, date.LAYERS, date.DROPOUT, date.LENGTH) == (128, 256, 4, 0.5, 128)
    assert (cvdd.HEADS, cvdd.ATTENTION_WIDTH, cvdd.OVERLAP_WEIGHT) == (3, 150, 1.0)
    assert (cvdd.FITTING.epochs, cvdd.FITTING.batch_size, cvdd.FITTING.learning_rate) == (100, 64, 0.01)
    assert (cvdd.FITTING.decay, cvdd.FITTING.decay_after, cvdd.FITTING.longest_gradient) == (0.1, (40,), 0.5)
    assert (fate.LABELLED, fate.HEADS, fate.ATTENTION_WIDTH, fate.TOP_SHARE, fate.MARGIN) == (10, 5, 150, 0.1, 5)
    assert fate.FITTING_OF_SMALL.learning_rate == fate.FITTING_OF_LARGE.learning_rate == 1e-6


# DATE ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def replaced_tokens() -> date.ReplacedTokens:
    torch.manual_seed(0)
    return date.ReplacedTokens(WORDS, LENGTH, n_patterns=4)


def test_a_pattern_covers_half_of_a_text_and_its_start_and_only_what_it_covers_is_replaced(
    replaced_tokens: date.ReplacedTokens,
) -> None:
    assert replaced_tokens.covered_KW[:, 0].all()
    # The first place is one of the half that was drawn, or comes on top.
    assert {LENGTH // 2 - 1, LENGTH // 2} >= set(replaced_tokens.covered_KW[:, 1:].sum(dim=1).tolist())
    texts = of_any_length(64, seed=0)
    replaced, pattern = replaced_tokens.replace(texts, Generator().manual_seed(0))
    outside = ~replaced_tokens.covered_KW[pattern] | (texts == 0)
    assert torch.equal(replaced[outside], texts[outside])
    assert (replaced[~outside] != texts[~outside]).float().mean() > 0.8
    assert set(pattern.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(("head", "weight"), [("replaced", "PATTERN_WEIGHT"), ("pattern", "REPLACED_WEIGHT")])
def test_the_loss_trains_both_heads(
    head: str, weight: str, replaced_tokens: date.ReplacedTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(date, weight, 0.0)  # what is left comes from the named head alone
    share = torch.full((8,), 1 / 8)
    replaced_tokens.loss(of_any_length(8, seed=0), share, generator=Generator().manual_seed(0)).backward()
    gradient = {name: w.grad for name, w in replaced_tokens.named_parameters() if w.grad is not None}
    trained = {name.partition(".")[0] for name, found in gradient.items() if found.abs().sum() > 0}
    assert head in trained
    assert {"replaced", "pattern"} - {head} <= {"replaced", "pattern"} - trained


def test_date_finds_texts_that_mix_what_is_never_mixed(monkeypatch: pytest.MonkeyPatch) -> None:
    # A narrow network takes larger first weights.
    of_small = {"DROPOUT": 0.0, "LAYERS": 1, "HIDDEN": 64, "EMBEDDING": 32, "FIRST_WEIGHTS": 0.2}
    for name, small in of_small.items():
        monkeypatch.setattr(date, name, small)
    fitting = replace(date.FITTING, epochs=12, learning_rate=3e-3)
    detector = date.replaced_tokens(WORDS, fitting=fitting, device="cpu").fit(topics(400, seed=0))
    tested = np.vstack([topics(100, seed=1), np.random.default_rng(1).integers(1, 9, size=(100, LENGTH))])
    assert roc_auc_score(np.repeat([0, 1], 100), detector.anomaly_score(tested)) > 0.9
    assert detector.anomaly_score(np.zeros((1, LENGTH))).tolist() == [0.0]


def test_date_starts_from_weights_that_its_learning_rate_can_move(replaced_tokens: date.ReplacedTokens) -> None:
    for name, weights in replaced_tokens.named_parameters():
        if name.endswith("bias"):
            assert not weights.any(), name
        elif weights.dim() > 1:
            assert weights.std().item() == pytest.approx(0.02, rel=0.2), name


# CVDD ----------------------------------------------------------------------------------------------------------------


def test_heads_look_at_tokens_only_and_their_weights_are_shares() -> None:
    heads = AttentionHeads(6, 3, 5)
    means, weight = heads(torch.randn(4, LENGTH, 6), torch.arange(LENGTH).expand(4, -1) < 5)
    assert means.shape == (4, 3, 6)
    assert weight[:, :, 5:].abs().max() == 0
    torch.testing.assert_close(weight.sum(dim=2), torch.ones(4, 3))


def test_orthonormal_rows_do_not_overlap_and_equal_ones_do() -> None:
    assert overlap(torch.eye(3, 7)) == 0
    assert overlap(torch.eye(3, 7)[[0, 0, 0]]) == pytest.approx(6 / 9)


def test_cvdd_finds_texts_about_something_else_and_keeps_contexts_apart() -> None:
    words = torch.eye(3).repeat_interleave(4, dim=0) + 0.1 * torch.randn(WORDS, 3, generator=Generator().manual_seed(0))
    fitting = replace(cvdd.FITTING, epochs=30)
    detector = cvdd.context_vectors(lambda: WordVectors(words), n_heads=2, fitting=fitting, device="cpu").fit(
        topics(200, seed=0)
    )
    network: Any = detector.network_
    assert overlap(network.context_RH) < 0.05
    torch.testing.assert_close(network.vectors.table.weight[1:], words)  # word vectors are given, not learned
    tested = np.vstack([topics(50, seed=1), topics(50, seed=1, odd=True)])
    assert roc_auc_score(np.repeat([0, 1], 50), detector.anomaly_score(tested)) > 0.95


def test_a_frozen_encoder_reads_a_text_alike_in_training_and_is_not_trained(encoder_folder: Path) -> None:
    import transformers

    vectors = EncoderVectors(transformers.AutoModel.from_pretrained(encoder_folder), frozen=True)
    before = {name: weights.clone() for name, weights in vectors.state_dict().items()}
    fitting = replace(cvdd.FITTING, epochs=2)
    detector = cvdd.context_vectors(lambda: vectors, n_heads=2, fitting=fitting, device="cpu").fit(topics(20, seed=0))
    network = detector.network_.train()
    texts = of_any_length(4, seed=0)
    assert isinstance(network, cvdd.ContextVectors)
    torch.testing.assert_close(network.distances(texts), network.distances(texts))
    torch.testing.assert_close(dict(vectors.state_dict()), before)


def test_an_encoder_does_not_see_what_is_filled_up(encoder_folder: Path) -> None:
    import transformers

    vectors = EncoderVectors(transformers.AutoModel.from_pretrained(encoder_folder), frozen=True).eval()
    texts = torch.as_tensor(topics(3, seed=0))
    longer = torch.nn.functional.pad(texts, (0, 4))
    torch.testing.assert_close(vectors(longer)[:, :LENGTH], vectors(texts))


def test_contexts_start_at_the_centres_of_the_texts() -> None:
    words = torch.eye(3).repeat_interleave(4, dim=0)
    network = cvdd.ContextVectors(WordVectors(words), n_heads=2)
    texts = torch.as_tensor(topics(40, seed=0))
    with torch.no_grad():
        network.begin([(texts, torch.full((40,), 1 / 40))])
    assert sorted(network.context_RH.argmax(dim=1).tolist()) == [0, 1]
    torch.testing.assert_close(network.context_RH.max(dim=1).values, torch.ones(2))


def test_the_temperature_lets_texts_choose_their_context_later_in_training() -> None:
    network = cvdd.ContextVectors(WordVectors(torch.eye(3)), n_heads=2)
    seen = {}
    for epoch in (1, 20, 21, 100):
        network.begin_epoch(epoch)
        seen[epoch] = float(network.temperature)
    assert seen == pytest.approx({1: 0.0, 20: 0.0, 21: 1e-4, 100: 0.1})


# FATE ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return save_embedder(tmp_path_factory.mktemp("encoder"), ["a b c d e f g h i j k l"])


def few_shot(folder: Path, **settings: Any) -> fate.FewShotDetector:
    import transformers

    return fate.few_shot_deviation(lambda: transformers.AutoModel.from_pretrained(folder), device="cpu", **settings)


def test_fate_learns_from_ten_anomalies_what_the_others_look_like(encoder_folder: Path) -> None:
    fitting = Fitting(epochs=6, batch_size=8, learning_rate=3e-3)
    detector = few_shot(encoder_folder, fitting=fitting).fit(topics(80, seed=0), anomalies=topics(10, seed=2, odd=True))
    normal, odd = (detector.anomaly_score(topics(40, seed=1, odd=odd)) for odd in (False, True))
    assert odd.min() > normal.max()
    # Deviations: normal texts near the reference's mean, anomalies towards the margin.
    assert np.abs(normal).mean() < 1.5
    assert odd.mean() > 3


def test_fate_without_a_labelled_anomaly_is_refused(encoder_folder: Path) -> None:
    with pytest.raises(InputError, match="labelled anomalies"):
        few_shot(encoder_folder).fit(topics(10, seed=0))


def test_a_large_set_is_passed_over_less_often(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fate, "LARGE", 15)
    monkeypatch.setattr(fate, "FITTING_OF_SMALL", Fitting(epochs=1, batch_size=8, learning_rate=1e-6))
    passes = {}
    for n in (10, 20):
        detector = few_shot(encoder_folder).fit(topics(n, seed=0), anomalies=topics(2, seed=2, odd=True))
        passes[n] = detector.fitting.epochs
    assert passes == {10: 1, 20: fate.FITTING_OF_LARGE.epochs}
