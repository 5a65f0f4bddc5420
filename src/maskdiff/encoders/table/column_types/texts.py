"""Free text: notes and descriptions, whose cells are sentences and mostly different.

A cell that holds a text has one code, whatever it says; what it says is judged by `evidence.text_columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskdiff.encoders.table.arrays import canonical_texts, text_hashes
from maskdiff.encoders.table.column_types.base import ColumnType, Found, Key, TextFit
from maskdiff.encoders.table.key_watch import KeyWatch

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

# The code of every cell that holds a text.
ANY_TEXT = "text"
# In fewer cells nobody can say whether they are mostly different.
FEWEST_CELLS = 20
# A cell is long from so many words on, and a column is text if half of its cells are long and mostly different.
LONG, SHARE = 4, 0.5
# After so many cells, a column of which fewer than this share are long is none.
_ENOUGH, _HOPELESS = 10_000, 0.1
# Where a word begins: a run without spaces that holds a letter. Scripts without spaces have about two signs a word.
_WORD, _SIGN = r"(?:^|\s)\S*\p{L}", r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]"
# The same for texts in ASCII: a pattern with all letters takes longer to compile than most columns to search.
_ASCII_WORD = r"(?:^|\s)\S*[A-Za-z]"
_MOST_WATCHED = 1 << 17
# Characters of a text that are shown where one line has to do.
_MOST_SHOWN = 200


class FreeTextFit(TextFit):
    """Whether cells are long and mostly different, over all rows."""

    def __init__(self, column_type: ColumnType) -> None:
        super().__init__(column_type)
        self.watch = KeyWatch(_MOST_WATCHED)  # of the long cells

    def add(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        self.rows += int(counts.sum())
        long = n_words(texts) >= LONG
        if long.any():
            self.watch.add(text_hashes(canonical_texts(texts.filter(pa.array(long)))), counts[long])
        self.alive = self.rows < _ENOUGH or self.watch.seen >= _HOPELESS * self.rows

    def merge(self, other: TextFit) -> None:
        assert isinstance(other, FreeTextFit)
        super().merge(other)
        self.watch.merge(other.watch)

    def found(self, decimal: str | None) -> Found | None:
        long = self.watch.seen >= max(SHARE * self.rows, FEWEST_CELLS)
        return Found(self.column_type) if long and self.watch.n_distinct >= SHARE * self.watch.seen else None


class FreeTextType(ColumnType):
    """Sentences. All of them have the same code."""

    name = "text"
    unit = "texts"
    is_free_text = True

    def text_fit(self) -> TextFit | None:
        return FreeTextFit(self)

    def from_texts(self, texts: pa.Array) -> pa.Array:
        return texts

    def key(self, text: str) -> Key | None:
        return ANY_TEXT

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        return [ANY_TEXT] * len(values)

    def display(self, column: Column) -> list[str]:
        """The beginning of each text."""
        return [text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…" for text in super().display(column)]


def n_words(texts: pa.Array) -> NDArray[np.float64]:
    """How many words each text has, about.

    >>> n_words(pa.array(["car towed, no third party", "3f2b-99d2", "車が動かない"], pa.large_string()))
    array([5., 1., 3.])
    """
    if pc.all(pc.string_is_ascii(texts)).as_py():
        return np.asarray(pc.count_substring_regex(texts, _ASCII_WORD), dtype=np.float64)
    starts, signs = (pc.count_substring_regex(texts, pattern).to_numpy() for pattern in (_WORD, _SIGN))
    found: NDArray[np.float64] = np.where(signs > 0, starts - 1 + signs / 2, starts)
    return found
