"""An exported model of texts or sequences gives the scores of the detector it came from, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from maskdiff import ProbeGrid, SequenceDetector, Steps, TextDetector, Training
from maskdiff.errors import NoEvidenceWarning, SettingError
from maskdiff.export import export_model
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.runtime import Scorer, load

pytest.importorskip("onnxruntime")

QUICK = Training(Steps(15), batch_size=32, learning_rate=0.01)
PROBES = ProbeGrid((0.2, 0.6), 4, seed=3)


def network(**settings):
    return TransformerReconstructor(**{"width": 16, "heads": 2, "feed_forward": 24, "training": QUICK} | settings)


def messages(n=150):
    rng = np.random.default_rng(0)
    places, times = ["home", "work", "the gym"], ["nine", "ten", "noon", "7 pm"]
    return [f"see you at {rng.choice(places)} at {rng.choice(times)}, ok?" for _ in range(n)]


def sessions(n=150):
    rng = np.random.default_rng(1)
    return [["open", *rng.choice(["read", "write", "seek"], rng.integers(1, 30)).tolist(), "close"] for _ in range(n)]


ODD_TEXTS = ["see you at the zoo at ten", "", None, "café \ud83d [UNK] naïve", "ok", "at " * 60, "7"]
ODD_SESSIONS = [["open", "close"], [], ["open", "burn", None, 3, "close"], ["read"] * 70, ["close", "open"] * 4]

CASES = {
    "texts": (TextDetector, network(cutoffs=(4, 9)), {"max_length": 24, "overlap": 6}),
    "one group": (TextDetector, network(layers=1), {"aggregate": "log_mean_exp", "max_length": 16}),
    "level": (TextDetector, network(uses_level=True, positions="learned", cutoffs=(3,)), {"aggregate": "rms"}),
    "sequences": (SequenceDetector, network(), {"max_length": 12, "overlap": 5}),
    "fewer views": (
        SequenceDetector,
        network(),
        {"max_length": 30, "overlap": 3, "probes": replace(PROBES, fewer_views_beyond=7)},
    ),
    "zero": (SequenceDetector, network(), {"probes": ProbeGrid((0.1, 0.5), 6, empty_views="zero"), "aggregate": "max"}),
}


@pytest.mark.parametrize("name", CASES)
def test_scores_p_values_and_alarms_are_those_of_the_detector(name, tmp_path):
    detector, reconstructor, settings = CASES[name]
    of_texts = detector is TextDetector
    fitted = detector(reconstructor, progress=False, **{"probes": PROBES} | settings)
    fitted = fitted.fit(messages() if of_texts else sessions())
    export_model(fitted, tmp_path / "out")
    rows = [*(messages(5) if of_texts else sessions(5)), *(ODD_TEXTS if of_texts else ODD_SESSIONS)]
    verdicts = load(tmp_path / "out").judge(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoEvidenceWarning)
        wanted = fitted.with_effort("full").judge(rows)
    np.testing.assert_allclose(verdicts.score, wanted.anomaly_score, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(verdicts.p_value, wanted.p_value)
    np.testing.assert_array_equal(verdicts.is_anomaly, wanted.is_anomaly)
    assert np.isnan(verdicts.score).any()


@pytest.fixture(scope="module")
def fitted():
    return TextDetector(network(), probes=PROBES, progress=False).fit(messages())


WITHOUT_TORCH = """
import json, sys
for name in ("torch", "pandas", "pyarrow", "sklearn", "scipy", "narwhals", "maskdiff"):
    sys.modules[name] = None  # an import of it fails
from maskdiff_runtime import load
print(json.dumps(load(".").score(json.loads(sys.stdin.read())).tolist()))
"""


def test_the_runtime_needs_neither_torch_nor_maskdiff(fitted, tmp_path):
    names = [path.name for path in export_model(fitted, tmp_path / "out")]
    assert names == ["model.json", "arrays.npz", "network.onnx", "tokenizer.json", "maskdiff_runtime"]
    texts = messages(8)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH],
        input=json.dumps(texts),
        cwd=tmp_path / "out",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(json.loads(done.stdout), fitted.with_effort("full").anomaly_score(texts), rtol=1e-5)


def test_rows_that_a_model_cannot_read_are_refused(fitted, tmp_path):
    export_model(fitted, tmp_path / "texts")
    with pytest.raises(ValueError, match="reads tokens, not columns: use `load`"):
        Scorer(tmp_path / "texts")
    with pytest.raises(ValueError, match="got one text"):
        load(tmp_path / "texts").score("see you")
    export_model(SequenceDetector(network(), probes=PROBES, progress=False).fit(sessions()), tmp_path / "sessions")
    with pytest.raises(ValueError, match="a list of symbols is expected"):
        load(tmp_path / "sessions").score(["open close"])


class Evenly:
    """Every code is as likely as any other."""

    def log_prob(self, views):
        return torch.full((views.n_rows, views.n_views, views.codes_BF.shape[1]), -2.0)

    def most_likely(self, views):
        return torch.zeros(self.log_prob(views).shape, dtype=torch.int64), self.log_prob(views)


def test_what_cannot_be_exported_is_refused_by_name(fitted, tmp_path):
    own_masks = TextDetector(network(), probes=ProbeGrid((0.3,), 2, "independent"), progress=False).fit(messages())
    with pytest.raises(SettingError, match="independent"):
        export_model(own_masks, tmp_path / "out")
    truncating = TextDetector(network(), preset="paper", tokenizer="bpe", probes=PROBES, progress=False)
    with pytest.raises(SettingError, match="cuts texts off"):
        export_model(truncating.fit(messages()), tmp_path / "out")
    with pytest.raises(SettingError, match="only a TransformerReconstructor can"):
        export_model(SequenceDetector(Evenly(), progress=False).fit(sessions()), tmp_path / "out")
    assert not (tmp_path / "out").exists()
