from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.runs import sets, text_methods
from maskdiff.bench.runs.measure import Split
from maskdiff.bench.runs.methods import Method
from maskdiff.bench.runs.own_texts import OwnTexts
from maskdiff.bench.runs.runner import run_bench
from maskdiff.bench.runs.tasks import Texts
from maskdiff.detectors import SequenceDetector, TextDetector
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.training import Steps, Training

QUICK = TransformerReconstructor(width=16, layers=1, heads=2, feed_forward=32, training=Training(Steps(5)))


def texts(n: int, vocabulary: list[str], seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(vocabulary, 5)) for _ in range(n)]


NORMAL = texts(150, ["see", "you", "at", "nine"], 0)
NEW = [*texts(30, ["see", "you", "at", "nine"], 1), *texts(9, ["win", "cash"], 2), ""]
LABELS = np.repeat([0, 1, 0], [30, 9, 1]).astype(np.int8)


def test_scores_are_the_detectors_own_and_a_text_without_tokens_is_the_least_odd() -> None:
    own = OwnTexts(TextDetector(QUICK, progress=False, device="cpu")).fit(NORMAL)
    scores = own.anomaly_score(NEW)
    np.testing.assert_allclose(scores[:-1], own.detector.anomaly_score(NEW[:-1]), rtol=1e-6)
    assert scores[-1] == scores.min()


def test_details_say_what_alarms_are_worth_and_what_other_aggregates_give() -> None:
    own = OwnTexts(TextDetector(QUICK, progress=False, device="cpu")).fit(NORMAL)
    details = own.details(own.anomaly_score(NEW), LABELS)
    assert 0 <= details["alarms_among_normal"] <= 1
    assert details["anomalies_found"] > 0.5
    assert {"mean", "rms", "max", "log_mean_exp", "rms+20", "rms+80"} <= set(details["other_aggregates"])
    assert details["other_aggregates"]["rms+20"]["roc_auc"] > 0.9


def test_sequences_are_measured_by_our_detector_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [text.split() for text in NORMAL], [text.split() for text in NEW]
    monkeypatch.setattr("maskdiff.bench.runs.tasks.cut_texts", lambda *arguments: Split(*rows, LABELS))
    monkeypatch.setitem(
        text_methods.SEQUENCE_METHODS,
        "default",
        Method(
            lambda seed, device: OwnTexts(SequenceDetector(QUICK, seed=seed, device=device, progress=False)), "ours"
        ),
    )
    settings = {"sets": ["hdfs"], "seeds": [0], "device": "cpu", "say": lambda line: None}
    ours, theirs = run_bench(Texts(), tmp_path / "out.jsonl", methods=["default", "copod"], **settings)
    assert (ours["status"], theirs["status"]) == ("ok", "failed")
    assert "f1" in ours
    assert "'copod' cannot read 'hdfs'" in theirs["error"]
    assert "hdfs" not in sets.text_names(["all"])
