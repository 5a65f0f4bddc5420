from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import text_speed
from maskdiff.bench.studies.text_speed import SpeedSettings, measure_text_speed


def test_the_same_weights_give_about_the_same_ranking_in_both_implementations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    normal = [" ".join(rng.choice(["see", "you", "at", "nine", "ten"], 6)) for _ in range(60)]
    odd = [" ".join(rng.choice(["win", "cash", "now", "free"], 6)) for _ in range(10)]
    y = np.repeat([0, 1], [20, 10]).astype(np.int8)
    monkeypatch.setattr(text_speed, "split_text", lambda name, data, seed: (normal[:40], normal[40:] + odd, y))
    out = tmp_path / "out.jsonl"
    settings = SpeedSettings(epochs=3, views=2, layers=1, width=16, heads=2)
    record = measure_text_speed(settings, out, device="cpu")
    assert read_records(out) == [record]
    assert record["moved_scoring"]["roc_auc"] == pytest.approx(record["plain_scoring"]["roc_auc"], abs=0.15)
    assert record["settings"] == {
        **{"set": "sms", "epochs": 3, "seed": 0, "tokenizer": "bpe", "views": 2, "layers": 1},
        **{"width": 16, "heads": 2},
    }
    for name in ("our_training", "our_scoring", "plain_training", "plain_scoring", "moved_scoring"):
        assert record[name]["seconds"] > 0
        assert record[name]["share_of_peak"] > 0
