"""Settings of detectors of texts and sequences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from maskdiff.codes.windows import narrowed
from maskdiff.detectors import MAIN, SequenceDetector, TextDetector
from maskdiff.errors import SettingError, TruncatedWarning
from maskdiff.masking import Linear, as_rows
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor
from maskdiff.score import AGGREGATES

from .token_rows import (
    ODD_TEXTS,
    PROBES,
    SESSIONS,
    TEXTS,
    make_texts,
    tiny,
)


@pytest.mark.parametrize("objective", ["reconstruction", "diffusion"])
@pytest.mark.parametrize("design", ["balanced", "independent"])
def test_both_objectives_and_designs_find_odd_texts(objective, design):
    probes = ProbeGrid((0.2, 0.5, 0.8), 3, design)
    detector = TextDetector(tiny(60), probes=probes, objective=objective).fit(TEXTS)
    assert detector.anomaly_score(ODD_TEXTS).min() > np.median(detector.anomaly_score(make_texts(20, 1)))


@pytest.mark.parametrize("aggregate", [*AGGREGATES, "auto"])
def test_every_aggregate_shares_its_score_out(text_detector, aggregate):
    detector = TextDetector(tiny(5), probes=PROBES, aggregate=aggregate).fit(TEXTS)
    np.testing.assert_allclose(detector.contributions(ODD_TEXTS).sum(axis=1), detector.anomaly_score(ODD_TEXTS))


def test_auto_steadies_short_texts(text_detector):
    """The same odd word weighs less in a text of two words than "rms" alone would let it."""
    plain = TextDetector(tiny(), probes=PROBES, aggregate="rms").fit(TEXTS)
    short, long = "ok zanzibar", "see you at zanzibar, ok?"
    for of_short, of_long in [plain.anomaly_score([short, long])]:
        assert of_short > of_long
    steadied = text_detector.anomaly_score([short, long])
    assert steadied[0] / steadied[1] < of_short / of_long


@pytest.mark.parametrize("reconstructor", [MLPReconstructor(), KernelReconstructor()])
def test_reconstructors_of_tables_are_refused(reconstructor):
    with pytest.raises(SettingError, match="reads tables"):
        TextDetector(reconstructor).fit(TEXTS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reconstructor": "mlp"}, "choose one of transformer"),
        ({"preset": "large"}, "preset must be None"),
        ({"aggregate": "median"}, "no aggregate is called 'median'"),
        ({"max_length": 4, "overlap": 4}, "max_length must be at least 1"),
        ({"tokenizer": "words"}, "no tokenizer is called"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_fit(settings, message):
    with pytest.raises(SettingError, match=message):
        TextDetector(**settings).fit(TEXTS)


def test_the_papers_preset_has_the_papers_size_probes_and_tokenizer():
    detector = TextDetector(preset="paper")
    reconstructor, probes = detector._resolve()
    assert (reconstructor.layers, reconstructor.width, reconstructor.heads) == (8, 512, 16)
    assert probes.levels == PAPER_LEVELS
    assert (probes.views_per_level, probes.design, probes.empty_views) == (24, "independent", "zero")
    encoder = detector._new_encoder()
    assert (encoder.tokenizer, encoder.whole_vocabulary) == ("gpt2", True)
    assert (encoder.max_length, encoder.truncate) == (256, True)
    assert not TextDetector()._new_encoder().truncate


class Counting:
    """A token is the more surprising the larger its code, and the more tokens are visible beside it."""

    def log_prob(self, views):
        n_visible = views.visible.sum(dim=2, keepdim=True)
        return -(1.0 + views.codes_BF.unsqueeze(1) % 7 + 0.1 * n_visible) * views.hidden

    def most_likely(self, views):
        shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])
        return views.codes_BF.unsqueeze(1).expand(shape), self.log_prob(views)


def test_the_papers_preset_scores_texts_by_equation_6():
    """The mean over all views of the mean surprise of their hidden tokens; no other tokens have a say."""
    few = ProbeGrid(PAPER_LEVELS, 2, "independent", "zero")
    detector = TextDetector(Counting(), preset="paper", tokenizer="bpe", probes=few).fit(TEXTS)
    (term,) = detector.evidence_.terms
    assert (term.aggregate, term.typical) == ("mean", None)
    texts = TEXTS[:3]
    source, codes = detector.evidence_.sources[MAIN], detector.encoder_.encode(texts)
    for row, score in enumerate(detector.anomaly_score(texts)):
        rows = replace(as_rows(narrowed(codes.take([row]))), place_B=torch.tensor([row << 32]))
        masks = source.probes.masks(rows.codes_BF.shape[1], Linear(), per_level=True)
        views = rows.views(masks.hidden(rows), masks.rate_K[None])
        surprise, hidden = -source.reconstructor.log_prob(views)[0], views.hidden[0]
        by_view = (surprise * hidden).sum(dim=1) / hidden.sum(dim=1).clamp_min(1)
        assert score == pytest.approx(float(by_view.mean()), rel=1e-5)


def test_the_papers_preset_reads_the_first_tokens_of_a_long_text_alone():
    few = ProbeGrid(PAPER_LEVELS, 2, "independent", "zero")
    detector = TextDetector(Counting(), preset="paper", tokenizer="bpe", probes=few, max_length=2, overlap=0)
    with pytest.warns(TruncatedWarning, match="more than 2 tokens"):
        detector.fit(TEXTS)
    first, longer = " ".join(TEXTS[0].split()[:2]), TEXTS[0] + " " + TEXTS[1]
    with pytest.warns(TruncatedWarning, match="1 of 1 texts"):
        scored = detector.anomaly_score([longer])
    assert scored == pytest.approx(detector.anomaly_score([first]))
    with pytest.warns(TruncatedWarning):
        assert detector.contributions([longer]).shape == (1, 2)


def test_own_reconstructors_serve_tokens_too():
    class Even:
        """Every token is as likely as any other."""

        def log_prob(self, views):
            return -2.0 * views.hidden.expand(views.n_rows, -1, -1)

        def most_likely(self, views):
            shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])
            return views.codes_BF.unsqueeze(1).expand(shape), self.log_prob(views)

    detector = SequenceDetector(Even()).fit(SESSIONS)
    assert detector.anomaly_score(SESSIONS[:2]) == pytest.approx([2.0, 2.0])
