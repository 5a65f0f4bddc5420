"""TextCells: the cells of a column of free text, and the tokens they consist of. N rows, T tokens, D distinct ones.

A token is a run of letters and digits, or any other sign alone; where a script has no spaces, each sign is one. Case
does not matter, and all digits are alike: amounts and dates differ in every text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskdiff.codes import BoolArray
from maskdiff.encoders.table.arrays import canonical_texts, is_text
from maskdiff.encoders.table.columns import Column

# Characters that are cut into tokens together.
_AT_ONCE = 1 << 24
_DIGIT = r"\p{Nd}"
# Signs that are tokens by themselves: those of scripts without spaces, and what is neither letter, digit nor space.
_ALONE = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]|[^\p{L}\p{M}\p{N}\s'\x{2019}])"


@dataclass(frozen=True, eq=False)
class TextTokens:
    """The tokens of N texts, one text after the other: where each is in `distinct` (D,), and its `row`, each (T,)."""

    distinct: pa.Array
    place: NDArray[np.int64]
    row: NDArray[np.int64]
    n_rows: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many tokens each text has, (N,)."""
        return np.bincount(self.row, minlength=self.n_rows)


@dataclass(frozen=True, eq=False)
class TextCells:
    """N texts, null where there is none."""

    array: pa.Array

    @classmethod
    def of(cls, column: Column) -> TextCells:
        """The cells of a column, whatever they are, as texts."""
        array = column.array
        if is_text(array.type):
            return cls(array)
        if column.is_empty:
            return cls(pa.nulls(len(array), pa.large_string()))
        values, index = column.distinct()
        texts = pa.array(canonical_texts(values), pa.large_string())
        return cls(texts.take(pa.array(index, mask=index < 0)))

    @classmethod
    def joined(cls, parts: list[TextCells]) -> TextCells:
        """These texts, one part after the other."""
        return cls(pa.concat_arrays([part.array for part in parts]))

    def __len__(self) -> int:
        return len(self.array)

    def take(self, rows: Any) -> TextCells:
        """The texts of these rows, in this order."""
        return TextCells(self.array.take(pa.array(np.arange(len(self.array))[rows])))

    def only(self, rows: BoolArray) -> TextCells:
        """The same, but no text in all other rows."""
        return TextCells(pc.if_else(pa.array(rows), self.array, pa.scalar(None, self.array.type)))

    def parts(self) -> Iterator[tuple[slice, TextCells]]:
        """A few of the rows at a time, so that their tokens need little memory; a text is never cut."""
        upto = np.cumsum(pc.binary_length(self.array).fill_null(0).to_numpy(zero_copy_only=False))
        at = 0
        while at < len(self):
            before = upto[at - 1] if at else 0
            end = max(at + 1, int(np.searchsorted(upto, before + _AT_ONCE, side="right")))
            yield slice(at, end), TextCells(self.array[at:end])
            at = end

    def tokens(self) -> TextTokens:
        """The tokens of these texts."""
        texts = pc.replace_substring_regex(pc.utf8_lower(self.array), _DIGIT, "0")
        texts = pc.replace_substring_regex(texts, _ALONE, r" \1 ")
        lists = pc.utf8_split_whitespace(texts)
        row = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
        flat = pc.list_flatten(lists)
        there = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
        coded = flat.filter(pa.array(there)).dictionary_encode()
        place = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return TextTokens(coded.dictionary, place, row[there], len(self))


def token_spans(text: str, tokens: list[str]) -> list[tuple[int, int]]:
    """Where the tokens of a text are in it, from start to end (excluded).

    >>> token_spans("Glass broke, 20 EUR", ["glass", "broke", ",", "00", "eur"])
    [(0, 5), (6, 11), (11, 12), (13, 15), (16, 19)]
    """
    places = [at for at, sign in enumerate(text) if not sign.isspace()]
    ends = np.cumsum([len(token) for token in tokens]).tolist()
    if not tokens or ends[-1] != len(places):  # a sign that only one of the two takes for a space
        return [(0, 0)] * len(tokens)
    starts = [0, *ends[:-1]]
    return [(places[start], places[end - 1] + 1) for start, end in zip(starts, ends, strict=True)]
