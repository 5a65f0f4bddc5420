"""Every method that is measured on texts, by name: ours, baselines on token codes, and detectors on embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskdiff.bench.baselines import neighbours, pyod
from maskdiff.bench.baselines.encoded import Matrix, MatrixDetector
from maskdiff.bench.embedders import Embedder, Folder
from maskdiff.bench.methods import Detector, Method
from maskdiff.codes import FloatArray
from maskdiff.detectors import TextDetector
from maskdiff.encoders.tokens.tokenizers import make_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EMBEDDED = "embedded"


class OwnTexts:
    """Our detector; a text without a single token, which has no score, is taken for the calmest."""

    def __init__(self, **settings: Any) -> None:
        self.detector = TextDetector(**settings, progress=False)

    def fit(self, X: Sequence[str]) -> Self:
        """Learn from normal texts."""
        self.detector.fit(X)
        return self

    def anomaly_score(self, X: Sequence[str]) -> FloatArray:
        """How odd each text is, shape (N,); higher = more anomalous."""
        scores = self.detector.anomaly_score(X)
        return np.where(np.isnan(scores), np.nanmin(scores), scores)


class TokenCodes:
    """A matrix detector that takes texts: GPT-2's token numbers, cut or filled up with 0 to `length` columns.

    The paper does not say how it makes columns of tokens; the length is that of our own detector's windows.
    """

    def __init__(self, detector: MatrixDetector, length: int = 256) -> None:
        self.detector = detector
        self.length = length

    def fit(self, X: Sequence[str]) -> Self:
        """Learn from normal texts."""
        self.tokenizer_ = _gpt2()
        self.detector.fit(self._codes(X))
        return self

    def anomaly_score(self, X: Sequence[str]) -> FloatArray:
        """How odd each text is, shape (N,); higher = more anomalous."""
        return self.detector.anomaly_score(self._codes(X))

    def _codes(self, texts: Sequence[str]) -> Matrix:
        codes = np.zeros((len(texts), self.length), dtype=np.int64)
        for row, encoding in zip(codes, self.tokenizer_.encode_batch_fast(list(texts)), strict=True):
            ids = encoding.ids[: self.length]
            row[: len(ids)] = np.asarray(ids) + 1
        return codes


@cache
def _gpt2() -> Tokenizer:
    return make_tokenizer("gpt2", [], 0)


def _tokens(build: Callable[[int, str], MatrixDetector], published: str) -> Method:
    return Method(lambda seed, device: TokenCodes(build(seed, device)), "baselines", published)


def _ours(published: str | None = None, **settings: Any) -> Method:
    def build(seed: int, device: str) -> Detector:
        return OwnTexts(**settings, seed=seed, device=device)

    return Method(build, "ours", published)


METHODS: dict[str, Method] = {
    "default": _ours(),
    "paper": _ours("Parametric MaskDiff-AD", preset="paper"),
    "copod": _tokens(lambda seed, device: pyod.copod(), "COPOD"),
    "ecod": _tokens(lambda seed, device: pyod.ecod(), "ECOD"),
    "hamming-knn": _tokens(lambda seed, device: neighbours.HammingNeighbours(25, device=device), "Hamming-kNN"),
    "iforest": _tokens(lambda seed, device: pyod.isolation_forest(seed=seed), "Isolation Forest"),
}

# With PyOD's own settings, as the published figures came about.
ON_EMBEDDINGS: dict[str, Callable[[int], MatrixDetector]] = {
    "ae": lambda seed: pyod.auto_encoder(seed=seed),
    "deep-svdd": lambda seed: pyod.deep_svdd(seed=seed, batch_size=32, learning_rate=1e-4, hidden_neurons=[64, 32]),
    "ecod": lambda seed: pyod.ecod(),
    "iforest": lambda seed: pyod.isolation_forest(seed=seed, trees=100),
    "lof": lambda seed: pyod.lof(),
    "lunar": lambda seed: pyod.lunar(seed=seed),
    "so-gaal": lambda seed: pyod.so_gaal(seed=seed),
    "vae": lambda seed: pyod.vae(seed=seed),
}


def text_methods(embedder: Embedder | None = None) -> dict[str, Method]:
    """All methods; those on embeddings, named after the embedder, only where there is one."""
    if embedder is None:
        return METHODS
    embedded = {f"{embedder.name}+{name}": _embedded(build) for name, build in ON_EMBEDDINGS.items()}
    if isinstance(embedder.embed, Folder):
        embedded[f"default+{embedder.name}"] = _ours(embedder=embedder.embed.folder)
    return {**METHODS, **embedded}


def _embedded(build: Callable[[int], MatrixDetector]) -> Method:
    return Method(lambda seed, device: build(seed), EMBEDDED)
