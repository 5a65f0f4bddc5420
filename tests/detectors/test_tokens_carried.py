"""A text is cut into tokens once per call, and what explains it is carried along."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from maskdiff.detectors import SequenceDetector, TextDetector
from maskdiff.encoders.tokens import sequence, text
from maskdiff.errors import NoEvidenceWarning
from maskdiff.jobs import ScoreOptions, report_file, score_file
from maskdiff.report import build_report

from .token_rows import ODD_SESSIONS, ODD_TEXTS, PROBES, SESSIONS, TEXTS, make_texts, tiny


class CountingTokenizer:
    """A tokenizer that counts how often it has seen each text."""

    def __init__(self, tokenizer):
        self.tokenizer, self.seen = tokenizer, Counter()

    def encode_batch(self, texts, **settings):
        self.seen.update(texts)
        return self.tokenizer.encode_batch(texts, **settings)

    def __getattr__(self, name):
        assert not name.startswith("encode"), f"{name} cuts texts too"
        return getattr(self.tokenizer, name)


@pytest.fixture
def counted(monkeypatch):
    """A fitted detector and its tokenizer, which counts from now on; and what it had counted at fit."""
    make = text.make_tokenizer
    monkeypatch.setattr(text, "make_tokenizer", lambda *given: CountingTokenizer(make(*given)))
    normal = [f"{line} {number}" for number, line in enumerate(TEXTS[:150])]
    detector = TextDetector(tiny(10), probes=PROBES, column="message").fit(pd.DataFrame({"message": normal}))
    tokenizer = detector.encoder_.tokenizer_
    assert tokenizer.seen == Counter(normal)
    tokenizer.seen.clear()
    return detector, tokenizer


NEW = [*dict.fromkeys(make_texts(30, 1)), *ODD_TEXTS, "see you at zanzibar", ""]


def test_judging_explaining_and_shading_cut_each_text_once(counted):
    detector, tokenizer = counted
    with pytest.warns(NoEvidenceWarning):
        verdicts = detector.judge(NEW)
    detector.explain(NEW, top=5, verdicts=verdicts)
    detector.shaded(NEW, verdicts=verdicts)
    some = verdicts.take(np.array([3, 1]))
    detector.explain([NEW[3], NEW[1]], verdicts=some)
    assert tokenizer.seen == Counter(NEW)


@pytest.mark.parametrize("method", ["anomaly_score", "p_value", "is_anomaly", "contributions", "explain", "shaded"])
def test_every_method_cuts_each_text_once(counted, method):
    detector, tokenizer = counted
    getattr(detector, method)(NEW[:-1])
    assert tokenizer.seen == Counter(NEW[:-1])


def test_a_report_cuts_each_text_once(counted):
    detector, tokenizer = counted
    page = build_report(detector, pd.DataFrame({"message": NEW, "id": range(len(NEW))}), false_alarm_rate=0.2)
    assert "zanzibar" in page
    assert tokenizer.seen == Counter(NEW)


def test_a_report_of_a_file_cuts_each_text_once(counted, tmp_path):
    detector, tokenizer = counted
    pd.DataFrame({"message": NEW[:-1], "id": range(len(NEW) - 1)}).to_csv(tmp_path / "new.csv", index=False)
    summary = report_file(detector, str(tmp_path / "new.csv"), str(tmp_path / "page.html"), false_alarm_rate=0.2)
    assert summary.anomalies > 0
    assert tokenizer.seen == Counter(NEW[:-1])


def test_scoring_a_file_with_reasons_cuts_each_text_once(counted, tmp_path):
    detector, tokenizer = counted
    pd.DataFrame({"message": NEW[:-1]}).to_csv(tmp_path / "new.csv", index=False)
    score_file(detector, str(tmp_path / "new.csv"), str(tmp_path / "scored.csv"), ScoreOptions(explain=2))
    assert tokenizer.seen == Counter(NEW[:-1])


def test_symbols_are_read_once_too(monkeypatch):
    detector = SequenceDetector(tiny(10), probes=PROBES).fit(SESSIONS)
    read = []
    monkeypatch.setattr(sequence, "as_symbols", lambda value, row, separator: read.append(row) or list(value))
    verdicts = detector.judge(ODD_SESSIONS)
    detector.explain(ODD_SESSIONS, verdicts=verdicts)
    detector.shaded(ODD_SESSIONS, verdicts=verdicts)
    assert read == [0, 1]


def test_rows_without_tokens_at_fit_are_named_by_their_numbers():
    texts = pd.DataFrame({"message": [*TEXTS[:50], "", *TEXTS[50:100], None]})
    with pytest.warns(NoEvidenceWarning, match=r"2 rows hold no tokens.*Rows 50, 101\."):
        detector = TextDetector(tiny(2), probes=PROBES, column="message").fit(texts)
    assert detector.empty_rows_.tolist() == [50, 101]
