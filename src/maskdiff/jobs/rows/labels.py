"""Labels: which rows of a labelled file are normal."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskdiff.codes import BoolArray
from maskdiff.encoders.table.cells import BOOLEANS, parse_number
from maskdiff.encoders.table.missing import MISSING
from maskdiff.errors import InputError, ReadingWarning, SettingError
from maskdiff.io.cell_texts import as_texts

Key = str | int | float
_MOST_NAMED = 6


def label_key(text: str) -> Key:
    """What a label is compared by: 0, 0.0, "0", False and "false" are one label.

    >>> label_key("0.0") == label_key("false") == 0, label_key("normal")
    (True, 'normal')
    """
    text = BOOLEANS.get(text.strip(), text.strip())
    number = parse_number(text)
    return text if number is None else number


class Labels:
    """A column that says which rows are normal: those with one of these values; without any, 0 of 0 and 1."""

    def __init__(self, column: str, normal: Sequence[str] = ()) -> None:
        self.column = column
        self.normal = {label_key(value) for value in normal}
        self.normal_names = ", ".join(normal) or "0"
        self.seen: Counter[str] = Counter()
        self.n_unlabelled = 0

    def is_normal(self, cells: pa.Array) -> BoolArray:
        """Which rows are normal; a row without label is not."""
        return np.equal(self._codes(cells), 0)

    def is_anomaly(self, cells: pa.Array) -> BoolArray:
        """Which rows are labelled otherwise."""
        return np.equal(self._codes(cells), 1)

    def _codes(self, cells: pa.Array) -> NDArray[np.int64]:
        """0 normal, 1 not, -1 without label, shape (n,)."""
        texts, index = _distinct(cells)
        for place, count in zip(*np.unique(index[index >= 0], return_counts=True), strict=True):
            self.seen[texts[place]] += int(count)
        found: NDArray[np.int64] = np.array([*map(self._code, texts), -1], dtype=np.int64)[index]
        self.n_unlabelled += int((found < 0).sum())
        return found

    def _code(self, text: str) -> int:
        if text.strip() in MISSING:
            return -1
        key = label_key(text)
        if not self.normal and key not in (0, 1):
            raise SettingError(
                f"the label column {self.column!r} holds {text!r}: say which values mark normal rows, normal=[...].",
                setting="normal",
            )
        return int(key not in (self.normal or {0}))

    def check_any_normal(self) -> None:
        if not any(self._code(text) == 0 for text in self.seen):
            held = ", ".join(repr(text) for text, _ in self.seen.most_common(_MOST_NAMED)) or "no value at all"
            raise InputError(f"no row is normal: {self.column!r} is never {self.normal_names}; it holds {held}.")


def warn_of_unlabelled(name: str, column: str, number: int) -> None:
    """A warning that names how many rows of a file were left out because nobody labelled them."""
    if number:
        warnings.warn(ReadingWarning(f"{name}: rows without a label in {column!r} left out: {number:,}."), stacklevel=2)


def is_value(cells: pa.Array, value: str) -> BoolArray:
    """Which cells hold this value, as a text or as a number, shape (n,).

    >>> is_value(pa.array(["17", "17.0", "x", None]), "17")
    array([ True,  True, False, False])
    """
    texts, index = _distinct(cells)
    found: BoolArray = np.array([*(label_key(text) == label_key(value) for text in texts), False])[index]
    return found


def _distinct(cells: pa.Array) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct texts of a column, and where each cell is among them, -1 for missing ones."""
    distinct = as_texts(cells).dictionary_encode()
    return distinct.dictionary.to_pylist(), distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False)
