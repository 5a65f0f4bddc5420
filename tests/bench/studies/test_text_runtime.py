from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from maskdiff import Steps, TextDetector, Training
from maskdiff.bench.pages.speed import text_runtimes
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import text_runtime
from maskdiff.bench.studies.text_runtime import RuntimeSettings, measure_text_runtime
from maskdiff.reconstructors import TransformerReconstructor


def test_every_effort_is_timed_and_compared_with_the_whole_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    normal = [" ".join(rng.choice(["see", "you", "at", "nine", "ten"], 12)) for _ in range(400)]
    odd = [" ".join(rng.choice(["win", "cash", "now", "free"], 12)) for _ in range(10)]
    y = np.repeat([0, 1], [40, 10]).astype(np.int8)
    monkeypatch.setattr(text_runtime, "split_text", lambda name, data, seed: (normal[:360], normal[360:] + odd, y))
    small = TransformerReconstructor(16, 1, 2, 16, training=Training(Steps(10), batch_size=32, learning_rate=0.01))
    out = tmp_path / "out.jsonl"
    settings = RuntimeSettings(rows=350, scored=40, busy=1)
    record = measure_text_runtime("sms", settings, out, device="cpu", detector=TextDetector(small, progress=False))
    assert read_records(out) == [record]
    assert record["settings"] == {"rows": 350, "scored": 40, "busy": 1, "seed": 0}
    assert (record["n_train"], record["n_test"]) == (350, 40)
    efforts = record["efforts"]
    assert list(efforts) == ["auto", "alarms", "full"]
    assert (efforts["full"]["agreement"], efforts["full"]["whole_grid"]) == (1, 1)
    assert efforts["auto"]["whole_grid"] < 1
    assert all(one["rows_per_second"] > 0 for one in efforts.values())
    work = record["training"]
    assert work["steps"] == 10
    assert 0.5 < work["tokens"] / (10 * 32 * 12) <= 1.5  # a batch holds 32 texts of twelve words
    assert work["operations"] > 3 * 2 * work["tokens"] * 4 * 16**2  # three passes through the attention's weights
    page = text_runtimes([record], "")
    assert page.count("| sms |") == 4
    assert f"{work['tokens']:,}" in page
    assert "1 busy" in page
