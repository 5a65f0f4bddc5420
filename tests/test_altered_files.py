"""A model file that was altered and signed again is refused in one line, or scores with finite numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import (
    KernelReconstructor,
    MLPReconstructor,
    ProbeGrid,
    SequenceDetector,
    Steps,
    TableDetector,
    TextDetector,
    Training,
    TransformerReconstructor,
    load,
    save,
)
from maskdiff.errors import ModelFileError

from .altered_files import alterations, altered, read_contents, write_contents
from .conftest import make_connections
from .embedder_folder import save_embedder

QUICK = Training(Steps(3), batch_size=32)
MLP = MLPReconstructor(8, 2, training=QUICK)
TINY = TransformerReconstructor(width=8, layers=1, heads=2, feed_forward=8, training=QUICK)
PROBES = ProbeGrid((0.2, 0.6), 2)
WORDS = ("see", "you", "at", "nine", "ten", "noon", "home", "work")
TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 5)) for i in range(60)]
ODD_TEXTS = ["see you at nine", "win cash now", "work"]
TRIED = 100


def connections(n, seed):
    return make_connections(n, seed).assign(when=pd.date_range("2024-01-01", periods=n, freq="h"))


def tables(*scopes, **settings):
    detector, rows = TableDetector(**settings).fit(connections(150, 0)), connections(3, 1)
    rows = rows.assign(service=["http", "odd", None])
    for scope in scopes:
        detector.dismiss(rows[1:2], scope)
    return detector, rows


def combined(tmp_path):
    presets = {None: TableDetector._presets[None] | {"combined": (lambda: MLP, PROBES)}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableDetector, "_presets", presets)
        return tables(columns={"flag": "category"})


def notes(tmp_path):
    rng = np.random.default_rng(0)
    rows = connections(150, 0)
    rows["note"] = [f"{service} was slow, {' '.join(rng.choice(WORDS, 4))}" for service in rows["service"]]
    detector = TableDetector("kernel", columns={"note": "text"}).fit(rows)
    return detector, rows[:3].assign(note=["http was slow, see you at nine", "qqxv zzkj", None])


def texts(detector):
    detector.fit(TEXTS).dismiss(ODD_TEXTS[1:2])
    return detector, ODD_TEXTS


MODELS = {
    "default": combined,
    "mlp": lambda path: tables(reconstructor=MLP, probes=PROBES, false_alarm_rate=0.1),
    "mlp with a level": lambda path: tables(reconstructor=MLPReconstructor(8, 2, 4, 0.1, True, QUICK), probes=PROBES),
    "kernel": lambda path: tables(
        "same cells", "same pattern", reconstructor=KernelReconstructor(2.0), aggregate="rms"
    ),
    "free text": notes,
    "paper": lambda path: tables(reconstructor="kernel", preset="paper", schedule="cosine"),
    "sequence": lambda path: (
        SequenceDetector(TINY, probes=PROBES, separator=" ").fit(TEXTS),
        [text.split() for text in ODD_TEXTS],
    ),
    "text": lambda path: texts(TextDetector(TINY, probes=PROBES, vocab_size=100)),
    "text with an embedder": lambda path: texts(
        TextDetector(TINY, probes=PROBES, vocab_size=100, embedder=save_embedder(path / "embedder", TEXTS))
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_altered_file_is_refused_or_gives_finite_scores(name, tmp_path):
    if "embedder" in name:
        pytest.importorskip("transformers")
    detector, rows = MODELS[name](tmp_path)
    path = tmp_path / "model.maskdiff"
    save(detector, path)
    contents = read_contents(path)
    write_contents(path, *contents)
    np.testing.assert_array_equal(load(path).anomaly_score(rows), detector.anomaly_score(rows))
    every = alterations(*contents)
    n_refused, faults = 0, []
    for alteration in every[:: max(1, len(every) // TRIED)]:
        outcome = fault_of(path, altered(contents, alteration), rows)
        n_refused += outcome == "refused"
        faults += [f"{alteration[0]}: {outcome}"] if outcome not in ("refused", "scored") else []
    assert faults == []
    assert n_refused > TRIED / 2


def fault_of(path, contents, rows):
    """Whether a file with these contents is refused, scored, or what else happens."""
    write_contents(path, *contents)
    try:
        detector = load(path)
    except ModelFileError as error:
        return "refused" if "\n" not in str(error) else f"refused in several lines: {error}"
    except Exception as error:
        return f"loading raised {error!r}"
    try:
        verdicts = detector.judge(rows)
        table = detector.explain(rows, top=1, verdicts=verdicts)
    except Exception as error:
        return f"scoring raised {error!r}"
    numbers = (verdicts.anomaly_score, verdicts.p_value, verdicts.contributions, table["surprise"].to_numpy())
    return "scored" if all(np.isfinite(some).all() for some in numbers) else "scores are not finite"
