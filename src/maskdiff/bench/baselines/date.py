"""DATE (Manolache et al., "DATE: Detecting Anomalies in Text via Self-Supervision of Transformers", 2021).

One of K fixed mask patterns is laid over a text, and the tokens it covers are replaced by random ones. A Transformer
trained from scratch says of every token whether it was replaced (RTD) and of the text which pattern was used (RMD). A
new text is shown as it is: the more of its tokens look replaced, the odder it is. B texts, W tokens, K patterns.

Sizes, weights and optimiser are those of the authors' code, its body that of ELECTRA. Theirs reads WordPiece tokens of
news without stop words, digits and punctuation, and draws one pattern per batch. Here tokens are those of the other
baselines, texts stay as they are, since digits and punctuation tell spam, and every text draws its own pattern.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer
from maskdiff.progress import Callback

FITTING = Fitting(
    epochs=20,
    batch_size=16,
    learning_rate=1e-5,
    weight_decay=0.1,
    decoupled=True,
    amsgrad=True,
    longest_gradient=1.0,
)
LENGTH = 128
PATTERNS = 50
COVERED = 0.5
REPLACED_WEIGHT = 50.0
PATTERN_WEIGHT = 100.0
EMBEDDING, HIDDEN, HEADS, LAYERS, DROPOUT = 128, 256, 4, 4, 0.5
# Deviation of the first weights. At this learning rate, embeddings of deviation 1 would stay what they were drawn as.
FIRST_WEIGHTS = 0.02


class ReplacedTokens(Scorer):
    """The discriminator and its two heads; code 0 stands for no token."""

    # Equal texts are replaced differently.
    equal_rows_once = False

    def __init__(self, n_tokens: int, length: int, n_patterns: int = PATTERNS) -> None:
        super().__init__()
        self.n_tokens = n_tokens
        covered = torch.rand(n_patterns, length).argsort(dim=1) < int(COVERED * length)
        self.covered_KW: Tensor
        covered[:, 0] = True
        self.register_buffer("covered_KW", covered)
        self.embed = nn.Embedding(n_tokens + 1, EMBEDDING, padding_idx=0)
        self.place = nn.Embedding(length, EMBEDDING)
        self.start = nn.Parameter(torch.randn(1, 1, EMBEDDING) * FIRST_WEIGHTS)
        self.widen = nn.Sequential(nn.LayerNorm(EMBEDDING), nn.Dropout(DROPOUT), nn.Linear(EMBEDDING, HIDDEN))
        layer = nn.TransformerEncoderLayer(HIDDEN, HEADS, 4 * HIDDEN, DROPOUT, functional.gelu, batch_first=True)
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.replaced = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, 1))
        self.pattern = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, n_patterns))
        self.apply(_small_weights)

    def forward(self, tokens_BW: Tensor) -> tuple[Tensor, Tensor]:
        """How much each token looks replaced, shape (B, W), and each pattern used, shape (B, K), as log odds."""
        places_W = torch.arange(tokens_BW.shape[1], device=tokens_BW.device)
        vectors_BWE = self.embed(tokens_BW) + self.place(places_W)
        vectors = self.widen(torch.cat([self.start.expand(len(tokens_BW), -1, -1), vectors_BWE], dim=1))
        states = self.body(vectors, src_key_padding_mask=functional.pad(tokens_BW == 0, (1, 0)))
        return self.replaced(states[:, 1:]).squeeze(2), self.pattern(states[:, 0])

    def replace(self, tokens_BW: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """The texts with the tokens under a random pattern replaced, and which pattern it was, shape (B,)."""
        device = tokens_BW.device
        pattern_B = torch.randint(len(self.covered_KW), (len(tokens_BW),), generator=generator, device=device)
        random_BW = torch.randint(1, self.n_tokens + 1, tokens_BW.shape, generator=generator, device=device)
        covered_BW = self.covered_KW[pattern_B] & (tokens_BW > 0)
        return torch.where(covered_BW, random_BW, tokens_BW), pattern_B

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        tokens_BW = rows_BW.long()
        seen_BW, pattern_B = self.replace(tokens_BW, generator)
        replaced_BW, pattern_BK = self(seen_BW)
        wrong_BW = functional.binary_cross_entropy_with_logits(
            replaced_BW, (seen_BW != tokens_BW).to(replaced_BW.dtype), reduction="none"
        )
        replaced_loss = share_B @ _mean(wrong_BW, tokens_BW > 0)
        pattern_loss = share_B @ functional.cross_entropy(pattern_BK, pattern_B, reduction="none")
        return REPLACED_WEIGHT * replaced_loss + PATTERN_WEIGHT * pattern_loss

    def score(self, rows_BW: Tensor) -> Tensor:
        tokens_BW = rows_BW.long()
        replaced_BW, _ = self(tokens_BW)
        return _mean(replaced_BW.sigmoid(), tokens_BW > 0)


def _small_weights(part: nn.Module) -> None:
    """First weights as ELECTRA draws them."""
    for name, weights in part.named_parameters(recurse=False):
        if name.endswith("bias"):
            nn.init.zeros_(weights)
        elif weights.dim() > 1:
            nn.init.normal_(weights, std=FIRST_WEIGHTS)


def _mean(values_BW: Tensor, counted_BW: Tensor) -> Tensor:
    """The mean over the tokens of each text, shape (B,); 0 where there is none."""
    return (values_BW * counted_BW).sum(dim=1) / counted_BW.sum(dim=1).clamp(min=1)


def replaced_tokens(
    n_tokens: int,
    *,
    n_patterns: int = PATTERNS,
    fitting: Fitting = FITTING,
    seed: int = 0,
    device: str = "auto",
    callback: Callback | None = None,
) -> NetworkDetector:
    """DATE on rows of token codes, 1 to `n_tokens`."""
    return NetworkDetector(
        lambda n, width: ReplacedTokens(n_tokens, width, n_patterns),
        fitting,
        seed=seed,
        device=device,
        callback=callback,
    )
