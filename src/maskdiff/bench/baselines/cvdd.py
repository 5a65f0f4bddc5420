"""CVDD: context vector data description (Ruff et al., "Self-Attentive, Multi-Context One-Class Classification", 2019).

Vectors of tokens are given and stay as they are. Several attention heads average them over a text, each in its own
way, and each head has a context vector: normal texts come to point along it, and a text whose heads point elsewhere is
odd. A penalty keeps contexts apart, and a temperature, raised during training, lets every text choose its context. B
texts, W tokens, H width of a token's vector, R heads.

Settings and cleaned texts are those of the authors' code for its first experiment. Theirs reads vectors of GloVe or
fastText, or the last layer of BERT; here it is the last layer of the pre-trained encoder that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from sklearn.cluster import KMeans
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.attention_heads import AttentionHeads, overlap
from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer
from maskdiff.bench.baselines.token_vectors import EncoderVectors, WordVectors
from maskdiff.progress import Callback

TokenVectors = WordVectors | EncoderVectors

FITTING = Fitting(
    epochs=100,
    learning_rate=0.01,
    weight_decay=5e-7,
    decay=0.1,
    decay_after=(40,),
    longest_gradient=0.5,
)
LENGTH = 128
HEADS = 3
ATTENTION_WIDTH = 150
OVERLAP_WEIGHT = 1.0
# From this epoch on each; 0 before the first.
TEMPERATURES = {21: 1e-4, 41: 1e-3, 61: 1e-2, 81: 1e-1}


class ContextVectors(Scorer):
    """Attention heads and their contexts over fixed vectors of tokens."""

    def __init__(self, vectors: TokenVectors, n_heads: int = HEADS) -> None:
        super().__init__()
        self.vectors = vectors
        self.heads = AttentionHeads(vectors.width, n_heads, ATTENTION_WIDTH)
        self.context_RH = nn.Parameter(torch.rand(n_heads, vectors.width) * 2 - 1)
        self.temperature: Tensor
        self.register_buffer("temperature", torch.zeros(()))

    def begin(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Contexts start at the centres of the texts' mean vectors."""
        means, shares = [], []
        for rows_BW, share_B in batches:
            total_BH = (self.vectors(rows_BW.long()) * (rows_BW > 0).unsqueeze(2)).sum(dim=1)
            means.append(functional.normalize(total_BH, dim=1).cpu())
            shares.append(share_B.cpu())
        n_heads = len(self.context_RH)
        seed = int(torch.randint(2**31, ()))
        centres = KMeans(n_heads, random_state=seed).fit(torch.cat(means), sample_weight=torch.cat(shares))
        found = torch.as_tensor(centres.cluster_centers_, dtype=self.context_RH.dtype)
        self.context_RH.copy_(functional.normalize(found, dim=1))

    def begin_epoch(self, epoch: int) -> None:
        self.temperature.fill_(max((value for start, value in TEMPERATURES.items() if start <= epoch), default=0.0))

    def distances(self, rows_BW: Tensor) -> Tensor:
        """The cosine distance of each head's vector from its context, between 0 and 1, shape (B, R)."""
        tokens_BW = rows_BW.long()
        means_BRH, _ = self.heads(self.vectors(tokens_BW), tokens_BW > 0)
        return 0.5 * (1 - functional.cosine_similarity(means_BRH, self.context_RH[None], dim=2))

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        distance_BR = self.distances(rows_BW)
        weight_BR = (-self.temperature * distance_BR).softmax(dim=1)
        return share_B @ (weight_BR * distance_BR).sum(dim=1) + OVERLAP_WEIGHT * overlap(self.context_RH)

    def score(self, rows_BW: Tensor) -> Tensor:
        return self.distances(rows_BW).mean(dim=1)


def context_vectors(
    vectors: Callable[[], TokenVectors],
    *,
    n_heads: int = HEADS,
    fitting: Fitting = FITTING,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> NetworkDetector:
    """CVDD on rows of token codes; `vectors` gives what turns them into vectors."""
    return NetworkDetector(
        lambda n, width: ContextVectors(vectors(), n_heads), fitting, seed=seed, device=device, callback=callback
    )
