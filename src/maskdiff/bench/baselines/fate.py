"""FATE (Das et al., "Few-shot Anomaly Detection in Text with Deviation Learning", 2023).

A pre-trained sentence encoder is trained on, together with attention heads over its token vectors. A text's score is
the mean of the largest tenth of the heads' numbers. Scores of normal texts are pulled to the mean of a normal
distribution, those of a few labelled anomalies pushed five deviations above it. It is the one method here that is
shown anomalies: ten, drawn from those that are not in the test set. B texts, W tokens, H width of a token's vector.

Settings are those of the authors' code. It makes 4 epochs of a large set and 50 of small ones, in each of which it sees
half of the normal texts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Generator, Tensor

from maskdiff.bench.baselines.attention_heads import AttentionHeads, overlap
from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer
from maskdiff.bench.baselines.token_vectors import EncoderVectors
from maskdiff.errors import InputError
from maskdiff.progress import Callback

# A batch holds as many anomalies again. Epochs count whole passes over the normal texts.
LARGE = 10_000
FITTING_OF_LARGE = Fitting(epochs=2, batch_size=8, learning_rate=1e-6)
FITTING_OF_SMALL = Fitting(epochs=25, batch_size=8, learning_rate=1e-6)
LENGTH = 128
LABELLED = 10
HEADS = 5
ATTENTION_WIDTH = 150
TOP_SHARE = 0.1
MARGIN = 5.0
REFERENCES = 5000


class Deviation(Scorer):
    """The encoder, its heads, and the labelled anomalies (A, W); code 0 stands for no token, 1 for the model's 0."""

    equal_rows_once = False

    def __init__(self, model: Any, anomalies_AW: Tensor) -> None:
        super().__init__()
        self.vectors = EncoderVectors(model, frozen=False)
        self.heads = AttentionHeads(self.vectors.width, HEADS, ATTENTION_WIDTH)
        self.anomalies_AW: Tensor
        self.register_buffer("anomalies_AW", anomalies_AW)

    def forward(self, rows_BW: Tensor) -> tuple[Tensor, Tensor]:
        """The score of each text, shape (B,), and the weights of its heads, shape (B, R, W)."""
        means_BRH, weight_BRW = self.heads(self.vectors(rows_BW.long()), rows_BW > 0)
        numbers = means_BRH.flatten(1).abs()
        score_B: Tensor = numbers.topk(max(1, int(TOP_SHARE * numbers.shape[1])), dim=1).values.mean(dim=1)
        return score_B, weight_BRW

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        device, n = rows_BW.device, len(rows_BW)
        chosen = torch.randint(len(self.anomalies_AW), (n,), generator=generator, device=device)
        score, weight_BRW = self(torch.cat([rows_BW, self.anomalies_AW[chosen]]))
        reference = torch.randn(REFERENCES, generator=generator, device=device)
        deviation = (score - reference.mean()) / reference.std()
        normal, anomalous = deviation[:n].abs(), (MARGIN - deviation[n:]).clamp(min=0)
        loss: Tensor = share_B @ (normal + anomalous) / 2 + overlap(weight_BRW).mean()
        return loss

    def score(self, rows_BW: Tensor) -> Tensor:
        score_B: Tensor = self(rows_BW)[0]
        return score_B


class FewShotDetector(NetworkDetector):
    """A network that also learns from a few labelled anomalies; `load` gives the pre-trained model."""

    def __init__(self, load: Callable[[], Any], fitting: Fitting | None = None, **settings: Any) -> None:
        super().__init__(lambda n, width: Deviation(load(), self.anomalies_AW), fitting or FITTING_OF_SMALL, **settings)
        self.by_size = fitting is None

    def fit(self, X: Matrix, anomalies: Matrix | None = None) -> Self:
        """Learn from normal rows and from labelled anomalies, all as token codes."""
        if anomalies is None or not len(anomalies):
            raise InputError("FATE learns from labelled anomalies: give it at least one.")
        self.anomalies_AW = torch.as_tensor(np.asarray(anomalies, dtype=np.float32))
        if self.by_size:
            self.fitting = FITTING_OF_LARGE if len(X) > LARGE else FITTING_OF_SMALL
        return super().fit(X)


def few_shot_deviation(
    load: Callable[[], Any],
    *,
    fitting: Fitting | None = None,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> FewShotDetector:
    """FATE on rows of token codes."""
    return FewShotDetector(load, fitting, seed=seed, device=device, callback=callback)
