"""How likely each token of a text is, given the one before it: counts of pairs, drawn towards those of single tokens.

A token that is not in the vocabulary counts as new, and is then spelled letter by letter. T tokens, V known ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.text_cells import TextTokens
from maskdiff.evidence.base import State
from maskdiff.evidence.texts.letters import LetterCounts
from maskdiff.score import PROBABILITY_FLOOR
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names, check_tensor, named, under

# Tokens seen once are not kept: the next ones that are new look like them. Of very many the most frequent ones are.
_FEWEST, _MOST_TOKENS = 2, 50_000
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Language:
    """The tokens that were seen more than once, with their `counts` (V + 1,); the last is that of all others together.

    `pairs` (P,) are two neighbours as one number, rising: that of the first times (V + 2), plus that of the second.
    Before the first token of a text is token V + 1.
    """

    vocabulary: tuple[str, ...]
    counts: NDArray[np.int64]
    pairs: NDArray[np.int64]
    pair_counts: NDArray[np.int64]
    letters: LetterCounts

    @classmethod
    def of(cls, tokens: TextTokens) -> Language:
        """Learned from the tokens of normal texts."""
        counts = np.bincount(tokens.place, minlength=len(tokens.distinct))
        order = np.argsort(-counts, kind="stable")[:_MOST_TOKENS]
        kept = order[counts[order] >= _FEWEST]
        vocabulary = tuple(tokens.distinct.take(pa.array(kept)).to_pylist())
        others = max(int(counts.sum() - counts[kept].sum()), 1)
        letters = LetterCounts.of(tokens.distinct.to_pylist())
        none = np.empty(0, np.int64)
        alone = cls(vocabulary, np.append(counts[kept], others), none, none, letters)
        before, place = alone._before(tokens, here := alone.places(tokens)), here
        pairs, pair_counts = np.unique(before * (len(vocabulary) + 2) + place, return_counts=True)
        return cls(vocabulary, alone.counts, pairs, pair_counts, letters)

    def places(self, tokens: TextTokens) -> Places:
        """Where each token is in the vocabulary, (T,); V where it is not."""
        place = pc.index_in(tokens.distinct, value_set=self._array).fill_null(len(self.vocabulary))
        found: Places = place.to_numpy(zero_copy_only=False).astype(np.int64)[tokens.place]
        return found

    @cached_property
    def _array(self) -> pa.Array:
        return pa.array(self.vocabulary, pa.large_string())

    def surprise(self, tokens: TextTokens, places: Places) -> FloatArray:
        """How surprising each token is, in nats, (T,)."""
        new = places == len(self.vocabulary)
        likely = (self.counts / self.counts.sum())[places]
        before = self._before(tokens, places)
        pair = before * (len(self.vocabulary) + 2) + places
        at = np.minimum(np.searchsorted(self.pairs, pair), max(len(self.pairs) - 1, 0))
        together = np.where(self.pairs[at] == pair, self.pair_counts[at], 0) if len(self.pairs) else np.zeros(len(pair))
        seen, kinds = (one[before] for one in self._after)
        # Witten and Bell: the more different tokens followed the one before, the likelier is yet another.
        likely = (together + kinds * likely) / np.maximum(seen + kinds, 1) + (seen == 0) * likely
        surprise = -np.log(np.maximum(likely, PROBABILITY_FLOOR))
        surprise[new] += self.spelling(tokens, new)
        bounded: FloatArray = np.minimum(surprise, -np.log(PROBABILITY_FLOOR))
        return bounded

    def spelling(self, tokens: TextTokens, chosen: NDArray[np.bool_]) -> FloatArray:
        """How surprising the letters of these tokens are."""
        places, inverse = np.unique(tokens.place[chosen], return_inverse=True)
        spelled: FloatArray = self.letters.surprise(tokens.distinct.take(pa.array(places)).to_pylist())[inverse]
        return spelled

    @cached_property
    def _after(self) -> tuple[FloatArray, FloatArray]:
        """How many tokens followed each one, and how many different ones, (V + 2,)."""
        n = len(self.vocabulary) + 2
        first = self.pairs // n
        seen: FloatArray = np.bincount(first, self.pair_counts, minlength=n).astype(np.float64)
        return seen, np.bincount(first, minlength=n).astype(np.float64)

    def _before(self, tokens: TextTokens, places: Places) -> Places:
        """The token before each one, (T,)."""
        first = np.diff(tokens.row, prepend=-1) != 0
        return np.where(first, len(self.vocabulary) + 1, np.roll(places, 1))

    def to_state(self) -> State:
        """The vocabulary, and all counts."""
        counts = {"counts": self.counts, "pairs": self.pairs, "pair_counts": self.pair_counts}
        tensors: dict[str, Tensor] = {name: torch.from_numpy(one.astype(np.int64)) for name, one in counts.items()}
        return {"vocabulary": list(self.vocabulary)}, tensors | named(self.letters.to_tensors(), "letters")

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors) -> Self:
        """The language that `to_state` described."""
        check(isinstance(plain, dict) and set(plain) == {"vocabulary"}, "it does not describe a language completely")
        vocabulary, letters = plain["vocabulary"], under(tensors, "letters")
        check(fits(vocabulary, list[str]) and len(set(vocabulary)) == len(vocabulary), "its vocabulary is no list")
        check_names(tensors, "counts", "pairs", "pair_counts", *named(letters, "letters"))
        n = len(vocabulary)
        check_tensor("counts", tensors["counts"], (n + 1,), torch.int64)
        _check_pairs(tensors["pairs"], tensors["pair_counts"], n)
        for name in ("counts", "pair_counts"):
            check(bool(((tensors[name] > 0) & (tensors[name] < 1 << 53)).all()), f"its {name} are out of range")
        counted, pairs, counts = (tensors[name].numpy().copy() for name in ("counts", "pairs", "pair_counts"))
        return cls(tuple(vocabulary), counted, pairs, counts, LetterCounts.from_tensors(letters))


def _check_pairs(pairs: Tensor, counts: Tensor, n: int) -> None:
    """Refuse pairs of tokens that are not those of a vocabulary of n, in order."""
    check(pairs.dtype == counts.dtype == torch.int64 and pairs.ndim == 1, "its pairs of tokens are no numbers")
    check(pairs.shape == counts.shape, "its pairs of tokens have other counts")
    check(bool((pairs.diff() > 0).all()) and bool((pairs >= 0).all()), "its pairs of tokens do not rise")
    check(not len(pairs) or int(pairs[-1]) < (n + 2) ** 2, "its pairs of tokens are beyond its vocabulary")
