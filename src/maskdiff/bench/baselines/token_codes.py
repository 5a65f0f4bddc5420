"""Texts for detectors of rows of a matrix: the numbers of their tokens, cut or filled up with 0 to one length.

N texts, W tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskdiff.bench.baselines.encoded import Matrix, MatrixDetector
from maskdiff.codes import FloatArray
from maskdiff.encoders.tokens.model_folder import tokenizer_of
from maskdiff.encoders.tokens.tokenizers import make_tokenizer, unrestricted

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The paper does not say how it makes columns of tokens; the length is that of our own detector's windows.
LENGTH = 256


class TokenCodes:
    """A matrix detector that takes texts; `tokenizer` gives the tokenizer when it is needed, GPT-2's by default.

    Texts are changed by `prepare` before, where it is given. With `covered` they are cut where so large a share of the
    normal ones ends, if that is before `length`.
    """

    def __init__(
        self,
        detector: MatrixDetector,
        length: int = LENGTH,
        tokenizer: Callable[[], Tokenizer] | None = None,
        prepare: Callable[[str], str] | None = None,
        covered: float | None = None,
    ) -> None:
        self.detector = detector
        self.length = length
        self.tokenizer = tokenizer or gpt2
        self.prepare = prepare
        self.covered = covered

    def fit(self, X: Sequence[str], **labelled: Sequence[str]) -> Self:
        """Learn from normal texts, and from `labelled` ones where the detector does."""
        self.tokenizer_ = self.tokenizer()
        self.length_ = self.length
        codes = self._codes(X)
        if self.covered is not None:
            ends = (codes > 0).sum(axis=1)
            self.length_ = max(1, int(np.quantile(ends, self.covered, method="higher")))
        fit: Any = self.detector.fit
        fit(codes[:, : self.length_], **{name: self._codes(texts) for name, texts in labelled.items()})
        return self

    def anomaly_score(self, X: Sequence[str]) -> FloatArray:
        """How odd each text is, shape (N,); higher = more anomalous."""
        return self.detector.anomaly_score(self._codes(X))

    def _codes(self, texts: Sequence[str]) -> Matrix:
        """One more than the tokens' numbers, shape (N, W); 0 stands for no token."""
        codes = np.zeros((len(texts), self.length_), dtype=np.int64)
        given = list(texts) if self.prepare is None else [self.prepare(text) for text in texts]
        for row, encoding in zip(codes, self.tokenizer_.encode_batch_fast(given), strict=True):
            ids = encoding.ids[: self.length_]
            row[: len(ids)] = np.asarray(ids) + 1
        return codes


@cache
def gpt2() -> Tokenizer:
    """The tokenizer of GPT-2."""
    return make_tokenizer("gpt2", [], 0)


@cache
def of_folder(folder: str) -> Tokenizer:
    """The tokenizer of a pre-trained model in a folder."""
    return unrestricted(tokenizer_of(folder))
