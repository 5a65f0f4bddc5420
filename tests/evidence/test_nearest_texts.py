"""A pre-trained embedder's evidence beside the masked surprise: on one scale, shared out over tokens, in one file."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from maskdiff.detectors import TextDetector
from maskdiff.encoders.tokens.embedder import TextEmbedder
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import InputError, NoEvidenceWarning
from maskdiff.evidence import Evidence, EvidenceTerm, NearestTexts
from maskdiff.evidence.nearest_texts import main_directions
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.storage import load, save
from maskdiff.training import Steps, Training

from ..embedder_folder import save_embedder

pytest.importorskip("transformers")

GREETINGS, TIMES = ("see you", "call me", "meet us"), ("nine", "ten", "noon", "six")
PLACES, DAYS = ("home", "work", "school", "church", "town"), ("today", "tomorrow", "monday", "sunday", "friday")
TINY = TransformerReconstructor(
    width=16, heads=2, feed_forward=32, dropout=0.0, training=Training(Steps(40), batch_size=32, learning_rate=0.01)
)
PROBES = ProbeGrid((0.2, 0.5, 0.8), 2)
# Every token of the last ones is known to one side only, or begins where the other side's does not.
HARD = ["see you at ten, ok?", "boats sail", "see you at zanzibar!", "\x00 ten", "  win   cash\t😀 \u202enow ", "?"]


def make_texts(n, seed):
    rng = np.random.default_rng(seed)
    parts = [[rng.choice(words) for words in (GREETINGS, PLACES, TIMES, DAYS)] for _ in range(n)]
    return ["{} at {}, {} {} ok?".format(*words) for words in parts]


TEXTS = make_texts(200, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    known = ["boats sail over the wide sea", "win cash now"]
    return save_embedder(tmp_path_factory.mktemp("embedder"), [*TEXTS, *known])


@pytest.fixture(scope="module")
def nearest(folder):
    embedder = TextEmbedder(folder).load(torch.device("cpu"))
    return NearestTexts(embedder, k=3).fit(TEXTS[:20])


@pytest.fixture(scope="module")
def detector(folder):
    return TextDetector(TINY, probes=PROBES, embedder=folder).fit(TEXTS)


# The distance --------------------------------------------------------------------------------------------------------


def vector(embedder, text):
    (part,) = embedder.embed([text])
    total = part.vectors_TH.sum(dim=0).numpy()
    return total / np.linalg.norm(total)


def codes_of(texts, max_length=256):
    encoder = TextEncoder(max_length=max_length, overlap=max_length // 4).fit(TEXTS)
    return encoder.encode(texts)


@pytest.mark.parametrize("max_length", [256, 3])
def test_distances_add_up_to_the_mean_cosine_distance_to_the_nearest_texts(nearest, max_length):
    codes = codes_of(HARD, max_length)
    added = nearest.distances(codes, stage="scoring")
    assert (added[~codes.counts] == 0).all()
    normal = np.array([vector(nearest.embedder, text) for text in TEXTS[:20]])
    for row, text in enumerate(HARD):
        distance = np.sort(1 - normal @ vector(nearest.embedder, text))[:3].mean()
        assert added[codes.row == row].sum() == pytest.approx(distance, abs=1e-5)


def test_a_word_adds_what_takes_it_away_from_the_nearest_texts(nearest):
    """Tokens of both sides are the same here, so each cell's part can be written down."""
    text = "see you at sea"
    (part,) = nearest.embedder.embed([text])
    vectors = part.vectors_TH.numpy()
    length = np.linalg.norm(vectors.sum(axis=0))
    normal = np.array([vector(nearest.embedder, one) for one in TEXTS[:20]])
    near = normal[np.argsort(-normal @ vectors.sum(axis=0))[:3]].mean(axis=0)
    agreement = vectors @ near / length
    expected = (1 - agreement[[0, -1]].sum()) / 4 - agreement[1:-1]
    added = nearest.distances(codes_of([text]), stage="scoring")[0]
    words = np.array([added[0], added[1], added[2], added[3:].sum()])  # "sea" is new to the cells: spelled in pieces
    np.testing.assert_allclose(words, expected, atol=1e-5)


def test_what_the_embedder_cannot_see_is_shared_by_all_cells(nearest):
    codes = codes_of(["\x00\x01 \x02"])
    added = nearest.distances(codes, stage="scoring")[codes.counts]
    assert len(added) > 1
    assert added == pytest.approx(np.full(len(added), added[0]))


# The detector --------------------------------------------------------------------------------------------------------


def test_contributions_add_up_to_the_score(detector):
    np.testing.assert_allclose(detector.contributions(HARD).sum(axis=1), detector.anomaly_score(HARD), rtol=1e-9)


def test_an_odd_topic_is_found_and_named_by_its_characters(detector):
    assert detector.is_anomaly(["boats sail over the wide sea"], 0.05).all()
    explained = detector.explain(["see you at sea, ten today ok?"], top=1).iloc[0]
    assert (explained["value"], explained["start"], explained["end"]) == ("sea", 11, 14)


def each_source(detector, texts):
    codes = detector.encoder_.encode(texts)
    return np.stack(
        [Evidence(detector.evidence_.sources, (term,)).weigh(codes).score for term in detector.evidence_.terms]
    )


def test_both_sources_have_one_scale_over_normal_texts(detector):
    masked, nearest = each_source(detector, make_texts(150, 1))
    assert 0.3 < masked.std() / nearest.std() < 3
    assert abs(masked.mean() - nearest.mean()) < 1
    assert 0.3 < masked.std() < 3


def test_the_source_that_finds_a_text_odder_weighs_more(detector):
    texts = [*HARD[:3], *make_texts(20, 1)]
    scores = each_source(detector, texts)
    weight = np.exp(scores - scores.max(axis=0))
    weighted = (weight * scores).sum(axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(detector.anomaly_score(texts), weighted, rtol=1e-9)
    assert (weighted >= scores.mean(axis=0) - 1e-9).all()


def test_texts_are_compared_in_the_directions_that_hold_half_of_their_variance():
    vectors = torch.randn(4000, 120, generator=torch.Generator().manual_seed(0)).double()
    vectors[:, :40] *= 3  # 40 x 9 of 440
    directions = main_directions(vectors + 5)
    held = (vectors @ directions).var(dim=0).sum() / vectors.var(dim=0).sum()
    assert 20 < directions.shape[1] < 30
    assert 0.5 <= held < 0.55
    torch.testing.assert_close(directions.T @ directions, torch.eye(directions.shape[1], dtype=torch.float64))


def test_a_rows_score_depends_neither_on_its_batch_nor_on_its_order(detector):
    rows = [*HARD, *TEXTS[:5]]
    together = detector.anomaly_score(rows)
    alone = [float(detector.anomaly_score([row])[0]) for row in rows]
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    np.testing.assert_allclose(detector.anomaly_score(rows[::-1])[::-1], together, rtol=1e-4)


def test_a_saved_detector_needs_the_folder_no_more(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "embedder")
    detector = TextDetector(TINY, probes=PROBES, embedder=moved).fit(TEXTS)
    save(detector, tmp_path / "model.maskdiff")
    shutil.rmtree(moved)
    again = load(tmp_path / "model.maskdiff")
    np.testing.assert_allclose(again.anomaly_score(HARD), detector.anomaly_score(HARD), rtol=1e-5)
    pd.testing.assert_frame_equal(again.explain(HARD), detector.explain(HARD), check_exact=False, rtol=1e-4)
    assert again.threshold() == detector.threshold()


def test_long_and_empty_texts_go_the_same_way(detector):
    texts = ["", " ".join(TEXTS), None, TEXTS[0]]
    with pytest.warns(NoEvidenceWarning, match=r"Rows 0, 2\."):
        verdicts = detector.judge(texts)
    assert np.isnan(verdicts.anomaly_score).tolist() == [True, False, True, False]
    assert verdicts.codes.row_lengths[1] > 256
    assert [len(pieces) > 0 for pieces in detector.shaded([TEXTS[0], HARD[4]])] == [True, True]


def test_verdicts_of_some_rows_are_those_of_these_rows_alone(detector):
    some = detector.judge(HARD).take(np.array([4, 0]))
    alone = detector.judge([HARD[4], HARD[0]])
    np.testing.assert_allclose(some.anomaly_score, alone.anomaly_score, rtol=1e-4)
    assert some.codes.tokens.texts.tolist() == alone.codes.tokens.texts.tolist()


def test_a_folder_that_is_none_is_refused_at_fit(tmp_path):
    with pytest.raises(InputError, match="cannot be read as a text embedder"):
        TextDetector(TINY, probes=PROBES, embedder=tmp_path / "nothing").fit(TEXTS)


def test_nearest_texts_are_evidence_on_their_own(nearest):
    evidence = Evidence({"nearest_texts": nearest}, (EvidenceTerm("nearest_texts", "mean"),))
    found = evidence.weigh(codes_of(HARD))
    assert found.contributions.shape == found.surprise.shape
    assert (found.score > 0).all()
