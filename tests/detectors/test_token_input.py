"""Rows without tokens, hard texts, and what cannot be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.detectors import SequenceDetector, TextDetector
from maskdiff.errors import EmptyTableError, InputError, NoEvidenceWarning, UnknownColumnError

from .token_rows import (
    ODD_TEXTS,
    PROBES,
    SESSIONS,
    TEXTS,
    tiny,
)


@pytest.mark.parametrize("empty", ["", "  \n", None, float("nan")])
def test_an_empty_text_holds_no_evidence_and_is_named(text_detector, empty):
    texts = ["see you at ten, ok?", empty, ODD_TEXTS[1]]
    with pytest.warns(NoEvidenceWarning, match=r"1 row holds no tokens.*Rows 1\."):
        verdicts = text_detector.judge(texts)
    assert np.isnan(verdicts.anomaly_score).tolist() == [False, True, False]
    assert verdicts.p_value[1] == 1
    assert verdicts.is_anomaly.tolist() == [False, False, True]
    with pytest.warns(NoEvidenceWarning):
        assert np.isnan(text_detector.contributions(texts)[1]).all()
    with pytest.warns(NoEvidenceWarning):
        assert text_detector.predict(texts).tolist() == [1, 1, -1]
    assert 1 not in set(text_detector.explain(texts, verdicts=verdicts)["row"])


@pytest.mark.filterwarnings("ignore::maskdiff.errors.NoEvidenceWarning")
def test_an_empty_row_is_never_an_alarm(case):
    detector, normal, odd = case
    rows = [*normal, None, *odd]
    assert not detector.is_anomaly(rows, 0.99)[len(normal)]
    assert not detector.select(rows, 0.99)[len(normal)]
    assert detector.p_value(rows)[len(normal)] == 1


def test_an_empty_sequence_holds_no_evidence_either(sequence_detector):
    with pytest.warns(NoEvidenceWarning, match=r"2 rows hold no tokens.*Rows 0, 2\."):
        scores = sequence_detector.anomaly_score([[], SESSIONS[0], None])
    assert np.isnan(scores).tolist() == [True, False, True]


def test_rows_that_are_all_empty_can_be_scored(text_detector):
    with pytest.warns(NoEvidenceWarning, match=r"7 rows.*Rows 0, 1, 2, 3, 4, \.\.\."):
        assert text_detector.p_value([""] * 7).tolist() == [1.0] * 7


def test_empty_texts_among_normal_ones_are_left_out_of_learning():
    texts = [text for pair in zip(TEXTS[:90], [""] * 90, strict=True) for text in pair]
    with pytest.warns(NoEvidenceWarning, match="90 rows hold no tokens, so no evidence: they are left out"):
        detector = TextDetector(tiny(20), probes=PROBES).fit(texts)
    assert not np.isnan(detector.calibration_.scores).any()
    assert len(detector.calibration_) < 60


@pytest.mark.parametrize("texts", [["", "", ""], [None, " ", None]])
def test_normal_texts_that_are_all_empty_are_refused(texts):
    with pytest.raises(EmptyTableError, match="holds a single token"):
        TextDetector(tiny(2)).fit(texts)


def test_one_normal_text_is_not_enough():
    with pytest.raises(InputError, match="at least 3 normal rows"):
        TextDetector(tiny(2)).fit(["see you"])


def test_no_texts_at_all_give_no_scores(text_detector):
    assert text_detector.anomaly_score([]).shape == (0,)
    assert len(text_detector.explain([])) == 0


def test_a_text_with_no_known_token_is_an_alarm(text_detector):
    assert text_detector.is_anomaly(["ωψχ Ж12 %$ 你好"]).all()


HARD = [
    "\x00\x07 ok",
    "\ud800 at ten",
    "שלום at nine, ok?",
    "😀👩\u200d👩\u200d👧",
    "\u202esee you",
    "x" * 5000,
    12,
    2.5,
    True,
]


def test_one_token_is_judged_and_named(text_detector):
    scores = text_detector.anomaly_score(["nine", "zanzibar", "?"])
    assert np.isfinite(scores).all()
    assert scores[1] > scores[0]
    odd = text_detector.explain(["nine"]).iloc[0]
    assert (odd["start"], odd["end"], odd["value"], odd["share"]) == (0, 4, "nine", pytest.approx(1))


def test_hard_texts_can_be_explained_and_their_spans_are_inside_them(text_detector):
    texts = [text if isinstance(text, str) else str(text) for text in HARD]
    explained = text_detector.explain(HARD, top=2)
    assert set(explained["row"]) == set(range(len(HARD)))
    for row, start, end in zip(explained["row"], explained["start"], explained["end"], strict=True):
        assert 0 <= start < end <= len(texts[row])


def test_hard_texts_have_scores_that_are_numbers(text_detector):
    scores = text_detector.anomaly_score(HARD)
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


@pytest.mark.parametrize(
    ("detector", "rows", "error", "message"),
    [
        (SequenceDetector, "abc", InputError, "got one str"),
        (SequenceDetector, [["a"], "a b"], InputError, "plain string"),
        (TextDetector, "see you", InputError, "got one str"),
        (TextDetector, ["see", ["you"], "then"], InputError, "row 1 is no text"),
        (TextDetector, pd.DataFrame({"a": ["x"], "b": ["y"]}), UnknownColumnError, "say which one"),
    ],
)
def test_what_cannot_be_read_is_refused_at_fit(detector, rows, error, message):
    with pytest.raises(error, match=message):
        detector(tiny(2)).fit(rows)
