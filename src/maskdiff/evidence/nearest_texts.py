"""The normal texts nearest in meaning, and which words take a text away from them.

B texts, N normal texts, k neighbours, T tokens of an embedder, H its width, D directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.encoders.tokens.embedder import Embedded, TextEmbedder
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.evidence.base import State
from maskdiff.progress import Callback, Progress
from maskdiff.score import CellScores
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names, check_tensor, named, under

_VECTORS = ("directions", "normal")
# In fewer directions all normal texts would soon point the same way.
_FEWEST_DIRECTIONS = 16


@dataclass(eq=False)
class NearestTexts:
    """Texts by what they mean: the mean of a pre-trained encoder's token vectors, brought to length one.

    They are compared in the main directions in which normal texts differ, those that hold half of their variance: what
    they differ by in the many others is chance, which covers up an odd topic. A text's distance is 1 - its cosine with
    its k nearest normal texts, on average. The vector of a text is a sum over its tokens, so that its distance is one
    too: a token adds much where it points away from those texts.
    """

    embedder: TextEmbedder
    k: int = 25

    directions_HD: Tensor = field(init=False, repr=False)
    normal_ND: Tensor = field(init=False, repr=False)

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, texts: Sequence[str], *, callback: Callback | None = None) -> Self:
        """A copy that keeps these texts' vectors."""
        normal_NH = self._vectors(texts, callback)
        directions_HD = main_directions(normal_NH)
        return self._beside(directions_HD, functional.normalize(normal_NH @ directions_HD))

    def joined(self, texts: Sequence[str], *, callback: Callback | None = None) -> Self:
        """A copy that keeps the vectors of these texts too, in the directions that it has."""
        if not texts:
            return self
        new_ND = functional.normalize(self._vectors(texts, callback) @ self.directions_HD)
        return self._beside(self.directions_HD, torch.cat([self.normal_ND, new_ND]))

    def _vectors(self, texts: Sequence[str], callback: Callback | None) -> Tensor:
        """The texts as the embedder sees them, each of length one, (N, H)."""
        found = []
        for part in self.embedder.embed(texts):
            found.append(functional.normalize(_sums(part)))
            if callback is not None:
                callback(Progress("embedding", part.first + part.n_texts, len(texts)))
        return torch.cat(found)

    def _beside(self, directions_HD: Tensor, normal_ND: Tensor) -> Self:
        fitted = replace(self)
        fitted.directions_HD, fitted.normal_ND = directions_HD, normal_ND
        return fitted

    # Answering -------------------------------------------------------------------------------------------------------

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F): its part in its text's distance, all tokens alike."""
        assert isinstance(codes, TokenWindows)
        distances = self.distances(codes, stage=stage, callback=callback)
        n_tokens = codes.row_lengths[codes.row][:, None]
        weight = codes.counts / np.maximum(n_tokens, 1)
        return CellScores(np.where(n_tokens > 0, distances * n_tokens, np.nan), weight, codes.row)

    def left_out(self) -> Self:
        """The same: distances are only taken from texts that were held out."""
        return self

    def describe(self) -> str:
        """What it is, in words."""
        return f"a pre-trained embedder's nearest normal texts: {self!r}"

    def to_state(self) -> State:
        """The embedder with its weights, the number of neighbours, and the normal texts' vectors."""
        plain, weights = self.embedder.to_state()
        vectors = {"directions": self.directions_HD, "normal": self.normal_ND}
        return {"embedder": plain, "k": self.k}, vectors | named(weights, "embedder")

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The source that `to_state` described."""
        check(isinstance(plain, dict) and set(plain) == {"embedder", "k"}, "its nearest texts are not described")
        check(fits(plain["k"], int) and plain["k"] > 0, f"k is {plain['k']!r}")
        weights = under(tensors, "embedder")
        check_names({name: one for name, one in tensors.items() if not name.startswith("embedder.")}, *_VECTORS)
        embedder = TextEmbedder.from_state(plain["embedder"], weights, device=device)
        width = embedder.model_.config.hidden_size
        directions = check_tensor("directions", tensors["directions"], (width, None), torch.float32)
        normal = check_tensor("normal", tensors["normal"], (None, directions.shape[1]), torch.float32)
        return cls(embedder, plain["k"])._beside(directions.clone().to(device), normal.clone().to(device))

    # The distance ----------------------------------------------------------------------------------------------------

    def distances(self, codes: TokenWindows, *, stage: str, callback: Callback | None = None) -> FloatArray:
        """What each cell adds to its text's distance, shape (L, F)."""
        rows, row = np.unique(codes.row, return_inverse=True)
        texts = codes.tokens.texts[rows].tolist()
        tokens = [_EncoderTokens(np.empty(0), np.empty(0, np.int64), np.empty((0, 2), np.int64))]
        for part in self.embedder.embed(texts):
            tokens.append(_EncoderTokens(self._agreement(part), part.text + part.first, part.span))
            if callback is not None:
                callback(Progress(stage, part.first + part.n_texts, len(texts)))
        line, cell = np.nonzero(codes.counts)
        begin = codes.tokens.offsets[codes.token_at(line, cell), 0]
        answer = np.zeros(codes.values.shape)
        answer[line, cell] = _shared_out(_EncoderTokens.joined(tokens), row[line], begin, texts)
        return answer

    def _agreement(self, part: Embedded) -> FloatArray:
        """What each token adds to its text's cosine with the nearest normal texts, on average, shape (T,)."""
        sum_BD = _sums(part) @ self.directions_HD
        cosine_BN = functional.normalize(sum_BD) @ self.normal_ND.T
        nearest_Bk = cosine_BN.topk(min(self.k, len(self.normal_ND)), dim=1).indices
        near_BD = self.normal_ND[nearest_Bk].mean(dim=1) / sum_BD.norm(dim=1, keepdim=True).clamp_min(1e-12)
        text_T = torch.from_numpy(part.text).to(near_BD.device)
        agreement_T = (part.vectors_TH @ self.directions_HD * near_BD[text_T]).sum(dim=1)
        agreement: FloatArray = agreement_T.double().cpu().numpy()
        return agreement


def main_directions(vectors_NH: Tensor) -> Tensor:
    """The fewest directions that hold half of the variance, but no fewer than 16; the widest first, as columns (H, D).

    >>> main_directions(torch.randn(500, 40) * torch.arange(1, 41)).shape
    torch.Size([40, 16])
    """
    variance_H, all_HH = torch.linalg.eigh(torch.cov(vectors_NH.T).double().cpu())
    held_H = variance_H.flip(0).cumsum(0)
    n = max(_FEWEST_DIRECTIONS, 1 + int((held_H < held_H[-1] / 2).sum()))
    directions_HD: Tensor = all_HH.flip(1)[:, :n].to(vectors_NH).contiguous()
    return directions_HD


def _sums(part: Embedded) -> Tensor:
    """The sum of each text's token vectors, (B, H)."""
    text_T = torch.from_numpy(part.text).to(part.vectors_TH.device)
    empty = part.vectors_TH.new_zeros(part.n_texts, part.vectors_TH.shape[1])
    return empty.index_add(0, text_T, part.vectors_TH)


@dataclass(frozen=True, eq=False)
class _EncoderTokens:
    """What an encoder's tokens agree by (T,), of which text each is (T,), and its characters (T, 2)."""

    agreement: FloatArray
    text: NDArray[np.int64]
    span: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[_EncoderTokens]) -> _EncoderTokens:
        return cls(*(np.concatenate([getattr(part, name.name) for part in parts]) for name in fields(cls)))


def _shared_out(
    tokens: _EncoderTokens, text: NDArray[np.int64], begin: NDArray[np.int64], texts: Sequence[str]
) -> FloatArray:
    """Each text's distance, 1 - all that its encoder's tokens agree by, on the cells with the same characters, (C,).

    `text` and `begin` (C,) say of which text each cell is, rising, and at which character it begins. Special tokens,
    which stand for no characters, are shared evenly by the others, or by all cells where there are no others.
    """
    n_cells, inside = np.bincount(text, minlength=len(texts)), tokens.span[:, 0] >= 0
    n_inside = np.bincount(tokens.text[inside], minlength=len(texts))
    special = np.bincount(tokens.text[~inside], weights=tokens.agreement[~inside], minlength=len(texts))
    alone = np.where(n_inside == 0, (1 - special) / np.maximum(n_cells, 1), 0.0)[text]
    inside &= n_cells[tokens.text] > 0
    of, (start, end) = tokens.text[inside], tokens.span[inside].T
    part = (1 - special[of]) / n_inside[of] - tokens.agreement[inside]
    # All texts in one row of characters; each character belongs to the last cell that begins at or before it.
    lengths = np.array([len(one) + 1 for one in texts], dtype=np.int64)
    offset, first = np.cumsum(lengths) - lengths, np.cumsum(n_cells) - n_cells
    width = np.maximum(end - start, 1)
    token = np.repeat(np.arange(len(of)), width)
    character = np.arange(len(token)) + np.repeat(start + offset[of] - np.cumsum(width) + width, width)
    cell = np.searchsorted(begin + offset[text], character, side="right") - 1
    cell = np.maximum(cell, first[of][token])
    return alone + np.bincount(cell, weights=(part / width)[token], minlength=len(text))
