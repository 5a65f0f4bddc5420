"""Every method that is measured on texts, by name: ours, and baselines on token codes or on a pre-trained model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from maskdiff.bench.baselines import cvdd, date, fate, neighbours, pyod
from maskdiff.bench.baselines.cleaned import cleaned
from maskdiff.bench.baselines.encoded import MatrixDetector
from maskdiff.bench.baselines.token_codes import TokenCodes, gpt2, of_folder
from maskdiff.bench.baselines.token_vectors import EncoderVectors
from maskdiff.bench.runs.embedders import Embedder, Folder
from maskdiff.bench.runs.methods import Detector, Method
from maskdiff.bench.runs.own_texts import OwnTexts
from maskdiff.detectors import SequenceDetector, TextDetector, TokenDetector
from maskdiff.encoders.tokens.model_folder import reading

EMBEDDED = "embedded"
# Networks on tokens are as slow as their longest text: the last hundredth is cut.
COVERED = 0.99


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
    "date": Method(
        lambda seed, device: TokenCodes(
            date.replaced_tokens(gpt2().get_vocab_size(), seed=seed, device=device),
            date.LENGTH,
            covered=COVERED,
        ),
        "baselines",
        "DATE",
    ),
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
    "deep-svdd": pyod.deep_svdd,
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
        embedded |= _on_model(embedder.name, embedder.embed.folder)
    return {**TEXT_METHODS, **embedded}


def _on_model(name: str, folder: str) -> dict[str, Method]:
    """The baselines that take a pre-trained model apart."""
    tokenizer = partial(of_folder, folder)

    def build_cvdd(seed: int, device: str) -> Detector:
        detector = cvdd.context_vectors(partial(_vectors, folder), seed=seed, device=device)
        return TokenCodes(detector, cvdd.LENGTH, tokenizer, cleaned, COVERED)

    def build_fate(seed: int, device: str) -> Detector:
        detector = fate.few_shot_deviation(partial(_model, folder), seed=seed, device=device)
        return TokenCodes(detector, fate.LENGTH, tokenizer, cleaned, COVERED)

    return {
        f"{name}+cvdd": Method(build_cvdd, "pretrained", "CVDD"),
        f"{name}+fate": Method(build_fate, "pretrained", "FATE", labelled=fate.LABELLED),
    }


def _model(folder: str) -> Any:
    with reading(folder, "a text embedder") as transformers:
        return transformers.AutoModel.from_pretrained(folder)


def _vectors(folder: str) -> EncoderVectors:
    return EncoderVectors(_model(folder), frozen=True)


def _embedded(build: Callable[..., MatrixDetector]) -> Method:
    return Method(lambda seed, device: build(seed=seed), EMBEDDED)
