"""How tokens are spelled: counts of three letters in a row, drawn towards those of two and of one.

A token that was never seen is judged by its letters: a new name looks like the language, gibberish does not. Counts are
kept in a table of fixed size, by a hash of the letters. D tokens, L letters of all tokens together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import FloatArray
from maskdiff.state import check
from maskdiff.state.tensors import Tensors, check_names, check_tensor

_SLOTS = 1 << 15
# Before the first letter of a token, and behind its last.
_BEGIN, _END = "\x02\x02", "\x03"
# Counts of shorter runs weigh as much as so many letters more.
_DRAWN = 5.0
# As many letters as any script in use may show besides those that were seen, each with this count.
_OTHERS, _LITTLE = 500, 0.1
_ROWS = ("three", "two", "one", "after_two", "after_one")


@dataclass(frozen=True, eq=False)
class LetterCounts:
    """Counts by the hash of three, two and one letters, and of what came before: rows of `counts` (5, _SLOTS)."""

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, tokens: list[str]) -> LetterCounts:
        """Learned from distinct tokens."""
        slots, _ = _slots(tokens)
        return cls(np.stack([np.bincount(one, minlength=_SLOTS) for one in slots]))

    def surprise(self, tokens: list[str]) -> FloatArray:
        """How surprising the spelling of each token is, in nats, (D,)."""
        if not tokens:
            return np.zeros(0)
        slots, owner = _slots(tokens)
        three, two, one, after_two, after_one = (row[slot] for row, slot in zip(self.counts, slots, strict=True))
        likely = (one + _LITTLE) / (self.counts[2].sum() + _LITTLE * _OTHERS)
        likely = (two + _DRAWN * likely) / (after_one + _DRAWN)
        likely = (three + _DRAWN * likely) / (after_two + _DRAWN)
        # Runs that share a slot are counted together, so that a count may exceed that of what came before.
        surprise: FloatArray = np.bincount(owner, -np.log(np.minimum(likely, 1.0)), len(tokens)).astype(np.float64)
        return surprise

    def to_tensors(self) -> dict[str, Tensor]:
        """The counts, by what they count."""
        return {name: torch.from_numpy(row.astype(np.int32)) for name, row in zip(_ROWS, self.counts, strict=True)}

    @classmethod
    def from_tensors(cls, tensors: Tensors) -> Self:
        """What `to_tensors` gave."""
        check_names(tensors, *_ROWS)
        for name, tensor in tensors.items():
            check_tensor(name, tensor, (_SLOTS,), torch.int32)
            check(bool((tensor >= 0).all()), f"its counts of letters ({name}) are below zero")
        return cls(np.stack([tensors[name].numpy().astype(np.int64) for name in _ROWS]))


def _slots(tokens: list[str]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """For each letter, and the end of each token, the slots of what ends there, (5, L), and its token, (L,)."""
    joined = "".join(f"{_BEGIN}{token}{_END}" for token in tokens)
    letters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    lengths = np.array([len(token) + 3 for token in tokens], np.int64)
    start = np.cumsum(lengths) - lengths
    counted = np.ones(len(letters), np.bool_)
    counted[start] = counted[start + 1] = False
    at = np.flatnonzero(counted)
    third, second, first = letters[at], letters[at - 1], letters[at - 2]
    runs = ((first, second, third), (second, third), (third,), (first, second), (second,))
    return [_hashed(run) for run in runs], np.repeat(np.arange(len(tokens)), lengths - 2)


def _hashed(run: tuple[NDArray[np.uint64], ...]) -> NDArray[np.int64]:
    mixed = np.zeros(len(run[0]), np.uint64)
    for letters in run:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + letters + np.uint64(1)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(_SLOTS)).astype(np.int64)
