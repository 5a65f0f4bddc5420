"""The vectors of a text's tokens, from a table of word vectors or from a pre-trained encoder that reads the whole text.

Codes are one more than the numbers of tokens; 0 stands for no token. B texts, W tokens, H width of a vector, V tokens.
"""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional


class WordVectors(nn.Module):
    """A table of vectors (V, H) that stay as they are."""

    def __init__(self, words_VH: Tensor) -> None:
        super().__init__()
        self.width = words_VH.shape[1]
        words = functional.pad(words_VH.detach().float(), (0, 0, 1, 0))
        self.table = nn.Embedding.from_pretrained(words, freeze=True, padding_idx=0)

    def forward(self, codes_BW: Tensor) -> Tensor:
        vectors_BWH: Tensor = self.table(codes_BW)
        return vectors_BWH


class EncoderVectors(nn.Module):
    """The last layer of a pre-trained encoder; as it is when `frozen`, trained along otherwise."""

    def __init__(self, model: Any, *, frozen: bool) -> None:
        super().__init__()
        self.width: int = model.config.hidden_size
        self.frozen = frozen
        self.model = model.float().requires_grad_(not frozen)

    def train(self, mode: bool = True) -> Self:
        # Without dropout, a frozen encoder gives a text the same vectors whenever it is read.
        return super().train(mode and not self.frozen)

    def forward(self, codes_BW: Tensor) -> Tensor:
        ids_BW = (codes_BW - 1).clamp(min=0)
        # Handed in as it is added to the attention: the model would look at the values of a plain one.
        least = torch.finfo(torch.float32).min
        mask_B11W = torch.zeros_like(codes_BW, dtype=torch.float32).masked_fill(codes_BW == 0, least)[:, None, None]
        mask = mask_B11W.expand(-1, 1, ids_BW.shape[1], -1)
        vectors_BWH: Tensor = self.model(ids_BW, attention_mask=mask).last_hidden_state
        return vectors_BWH
