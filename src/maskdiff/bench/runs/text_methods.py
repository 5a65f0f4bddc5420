"""Every method that is measured on texts, by name: ours, baselines on token codes, and detectors on embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskdiff.bench.baselines import neighbours, pyod
from maskdiff.bench.baselines.encoded import Matrix, MatrixDetector
from maskdiff.bench.runs.embedders import Embedder, Folder
from maskdiff.bench.runs.methods import Detector, Method
from maskdiff.bench.runs.own_texts import OwnTexts
from maskdiff.codes import FloatArray
from maskdiff.detectors import SequenceDetector, TextDetector, TokenDetector
from maskdiff.encoders.tokens.tokenizers import make_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EMBEDDED = "embedded"


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


def on_tokens(build: Callable[..., MatrixDetector], published: str | None = None) -> Method:
    """A baseline that is given token codes; `build(seed=, device=)` makes its detector."""
    return Method(lambda seed, device: TokenCodes(build(seed=seed, device=device)), "baselines", published)


def _ours(published: str | None = None, detector: type[TokenDetector] = TextDetector, **settings: Any) -> Method:
    def build(seed: int, device: str) -> Detector:
        return OwnTexts(detector(**settings, seed=seed, device=device, progress=False))

    return Method(build, "ours", published)


TEXT_METHODS: dict[str, Method] = {
    "default": _ours(),
    "paper": _ours("Parametric MaskDiff-AD", preset="paper"),
    "copod": on_tokens(pyod.copod, "COPOD"),
    "ecod": on_tokens(pyod.ecod, "ECOD"),
    "hamming-knn": on_tokens(neighbours.hamming_neighbours, "Hamming-kNN"),
    "iforest": on_tokens(pyod.isolation_forest, "Isolation Forest"),
}

# On rows of symbols that are no text.
SEQUENCE_METHODS: dict[str, Method] = {"default": _ours(detector=SequenceDetector)}

# With PyOD's own settings, as the published figures came about.
ON_EMBEDDINGS: dict[str, Callable[..., MatrixDetector]] = {
    "ae": pyod.auto_encoder,
    "deep-svdd": partial(pyod.deep_svdd, batch_size=32, learning_rate=1e-4, hidden_neurons=[64, 32]),
    "ecod": pyod.ecod,
    "iforest": partial(pyod.isolation_forest, trees=100),
    "lof": pyod.lof,
    "lunar": pyod.lunar,
    "so-gaal": pyod.so_gaal,
    "vae": pyod.vae,
}


def text_methods(embedder: Embedder | None = None) -> dict[str, Method]:
    """All methods; those on embeddings, named after the embedder, only where there is one."""
    if embedder is None:
        return TEXT_METHODS
    embedded = {f"{embedder.name}+{name}": _embedded(build) for name, build in ON_EMBEDDINGS.items()}
    if isinstance(embedder.embed, Folder):
        embedded[f"default+{embedder.name}"] = _ours(embedder=embedder.embed.folder)
    return {**TEXT_METHODS, **embedded}


def _embedded(build: Callable[..., MatrixDetector]) -> Method:
    return Method(lambda seed, device: build(seed=seed), EMBEDDED)
