"""A transformer over texts as most would write it: stock layers in float32, every text padded, one pass for each view.

Texts are cut or padded to 128 tokens, logits are computed at all positions, every batch gets fresh masks.
N texts, F positions, H width, V tokens of the vocabulary.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from maskdiff.codes import Codes, FloatArray
from maskdiff.probes import PAPER_LEVELS, ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor

PADDED_TO, SCORED_AT_ONCE = 128, 256


class Plain(nn.Module):
    """The same network in stock layers, all positions in, all logits out."""

    def __init__(self, n_codes: int, size: TransformerReconstructor) -> None:
        super().__init__()
        self.n_codes = n_codes  # also the token in the place of one that is hidden
        self.tokens = nn.Embedding(n_codes + 1, size.width)
        self.places = nn.Embedding(PADDED_TO, size.width)
        self.level = nn.Sequential(nn.Linear(1, size.width), nn.SiLU(), nn.Linear(size.width, size.width))
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, size.feed_forward, size.dropout, "gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(size.width)
        self.encoder = nn.TransformerEncoder(layer, size.layers, norm, enable_nested_tensor=False)
        self.head = nn.Linear(size.width, n_codes)
        self.dropout = nn.Dropout(size.dropout)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, codes_NF: Tensor, hidden_NF: Tensor, real_NF: Tensor, rate_N: Tensor) -> Tensor:
        shown_NF = codes_NF.masked_fill(hidden_NF | ~real_NF, self.n_codes)
        x_NFH = self.tokens(shown_NF) + self.places.weight + self.level(rate_N[:, None])[:, None]
        padding_NF = ~real_NF
        padding_NF[:, 0] = False  # attention over nothing would be NaN
        x_NFH = self.encoder(self.dropout(x_NFH), src_key_padding_mask=padding_NF)
        logits_NFV: Tensor = self.head(x_NFH)
        return logits_NFV

    def surprise(self, codes_NF: Tensor, real_NF: Tensor, rate_N: Tensor) -> Tensor:
        """The mean surprise of the tokens that a fresh mask hides, (N,)."""
        hidden_NF = (torch.rand(codes_NF.shape, device=codes_NF.device) < rate_N[:, None]) & real_NF
        logits_NFV = self(codes_NF, hidden_NF, real_NF, rate_N)
        surprise = functional.cross_entropy(logits_NFV.flatten(0, 1), codes_NF.flatten(), reduction="none")
        surprise_NF = surprise.view(codes_NF.shape)
        return (surprise_NF * hidden_NF).sum(dim=1) / hidden_NF.sum(dim=1).clamp_min(1)


def plain_train(texts: Codes, settings: TransformerReconstructor, seed: int, device: torch.device) -> Plain:
    torch.manual_seed(seed)
    network = Plain(int(texts.schema.sizes[0]), settings).to(device).train()
    training = settings.training
    optimiser = torch.optim.AdamW(
        network.parameters(), training.learning_rate, weight_decay=training.weight_decay, fused=True
    )
    codes_NF, real_NF = on_device(texts, device)
    levels = torch.tensor(PAPER_LEVELS, device=device)
    steps, step = training.stop.steps(len(texts), training.batch_size), 0
    while step < steps:
        for batch in torch.randperm(len(texts), device=device).split(training.batch_size):
            step += 1
            rate_N = levels[torch.randint(len(levels), (len(batch),), device=device)]
            loss = network.surprise(codes_NF[batch], real_NF[batch], rate_N).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.param_groups[0]["lr"] = training.rate(step, steps)
            optimiser.step()
    return network.eval()


@torch.inference_mode()
def plain_score(network: Plain, texts: Codes, probes: ProbeGrid, device: torch.device) -> FloatArray:
    codes_NF, real_NF = on_device(texts, device)
    scores = []
    for codes, real in zip(codes_NF.split(SCORED_AT_ONCE), real_NF.split(SCORED_AT_ONCE), strict=True):
        total = torch.zeros(len(codes), device=device)
        for level in probes.levels:
            rate = torch.full((len(codes),), level, device=device)
            for _ in range(probes.views_per_level):
                total += network.surprise(codes, real, rate)
        scores.append(total / probes.n_views)
    return torch.cat(scores).double().cpu().numpy()


def on_device(texts: Codes, device: torch.device) -> tuple[Tensor, Tensor]:
    """Codes and which of them are real; padding holds code 0."""
    assert texts.real is not None
    short = PADDED_TO - texts.values.shape[1]
    real = np.pad(texts.real, ((0, 0), (0, short)))
    codes = np.pad(np.where(texts.real, texts.values, 0).astype(np.int64), ((0, 0), (0, short)))
    return torch.from_numpy(codes).to(device), torch.from_numpy(real).to(device)
