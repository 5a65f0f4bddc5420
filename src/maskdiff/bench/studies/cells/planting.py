"""Ways to plant a wrong value in a cell of a row that was normal.

Each says in which cells of rows it is possible, and what it puts there. All are drawn from a generator handed in, so
that equal seeds plant equal errors. N rows, C columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from maskdiff.bench.studies.cells.groups import ColumnGroups, associations, identifies_rows, pair_counts
from maskdiff.codes import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

# A column depends on another from this normalised mutual information on.
DEPENDS = 0.1
# Two values contradict each other if they are never together, although chance alone would show so many such rows.
EXPECTED_TOGETHER = 3.0
# In columns of more values hardly any pair of values is expected, so that none contradicts.
_MOST_VALUES = 500

Values = NDArray[Any]


class NormalRows:
    """What is known of normal rows when errors are planted in others like them."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.X = X
        self.groups = ColumnGroups().fit(X)
        self.codes = self.groups.codes(X)
        self.counts = [np.bincount(self.codes[:, j], minlength=size) for j, size in enumerate(self.groups.sizes_)]
        self.plantable = ~identifies_rows(X)

    def draw(self, column: int, groups: IntArray, rng: Generator) -> Values:
        """For each group the value of one of its rows."""
        order = np.argsort(self.codes[:, column], kind="stable")
        counts = self.counts[column]
        first = np.cumsum(counts) - counts
        chosen = order[first[groups] + (rng.random(len(groups)) * counts[groups]).astype(np.int64)]
        return np.asarray(self.X.iloc[:, column].to_numpy()[chosen])


class Planting(Protocol):
    """One way to plant errors, made from what is known of normal rows."""

    def __init__(self, normal: NormalRows) -> None: ...

    def possible(self, X: pd.DataFrame) -> BoolArray:
        """The cells that can be made wrong this way, shape (N, C)."""

    def values(self, X: pd.DataFrame, column: int, rng: Generator) -> Values:
        """A wrong value for the column's cell of each row, in all of which it is possible, shape (N,)."""


class OtherRowsValue:
    """Another row's value of the same column, other than the cell's own; frequent ones are drawn more often."""

    def __init__(self, normal: NormalRows) -> None:
        self.normal = normal
        cells = [normal.X.iloc[:, j].dropna() for j in range(normal.X.shape[1])]
        self.values_counts = [column.value_counts(sort=False) for column in cells]

    def possible(self, X: pd.DataFrame) -> BoolArray:
        several = np.array([len(counts) > 1 for counts in self.values_counts])
        return np.broadcast_to(several & self.normal.plantable, X.shape)

    def values(self, X: pd.DataFrame, column: int, rng: Generator) -> Values:
        import pandas as pd

        known = self.values_counts[column]
        counts = known.to_numpy()
        last = np.cumsum(counts)
        own = known.index.get_indexer(pd.Index(X.iloc[:, column]))
        n_own = np.where(own < 0, 0, counts[own])
        drawn = (rng.random(len(X)) * (last[-1] - n_own)).astype(np.int64)
        drawn += np.where(drawn >= last[own] - n_own, n_own, 0)  # past the rows that hold the cell's own value
        return np.asarray(known.index.to_numpy()[np.searchsorted(last, drawn, side="right")])


class Contradiction:
    """A value of the column that is never beside the value of the column it depends on most, although both are common.

    Frequent values are drawn more often, so that it is the pair that is odd and not the value.
    """

    def __init__(self, normal: NormalRows) -> None:
        self.normal = normal
        sizes = normal.groups.sizes_
        usable = normal.plantable & (sizes <= _MOST_VALUES)
        association = np.zeros((len(sizes), len(sizes)))
        among = np.flatnonzero(usable)
        association[np.ix_(among, among)] = associations(normal.codes[:, among], sizes[among])
        self.partner = association.argmax(axis=1)
        self.depends = association.max(axis=1, initial=0.0) >= DEPENDS
        self.weights = {int(j): self._weights(int(j)) for j in np.flatnonzero(self.depends)}

    def _weights(self, column: int) -> FloatArray:
        """How many normal rows hold each value that contradicts the partner's, (partner's groups, own groups)."""
        partner, sizes, normal = int(self.partner[column]), self.normal.groups.sizes_, self.normal
        shape = (int(sizes[partner]), int(sizes[column]))
        together = pair_counts(normal.codes[:, partner], normal.codes[:, column], shape)
        expected = np.outer(normal.counts[partner], normal.counts[column]) / len(normal.X)
        never = (together == 0) & (expected >= EXPECTED_TOGETHER)
        never[:, normal.groups.missing[column]] &= normal.groups.missing[column] < 0
        weights = np.zeros((shape[0] + 1, shape[1] + 1))  # a value never seen contradicts nothing
        weights[:-1, :-1] = never * normal.counts[column]
        return weights

    def _of_rows(self, X: pd.DataFrame, column: int) -> FloatArray:
        codes = self.normal.groups.codes(X)
        weights = self.weights[column][codes[:, self.partner[column]]]
        weights[np.arange(len(X)), codes[:, column]] = 0.0
        return weights

    def possible(self, X: pd.DataFrame) -> BoolArray:
        found = np.zeros(X.shape, dtype=np.bool_)
        for column in self.weights:
            found[:, column] = self._of_rows(X, column).any(axis=1)
        return found

    def values(self, X: pd.DataFrame, column: int, rng: Generator) -> Values:
        cumulated = np.cumsum(self._of_rows(X, column), axis=1)
        drawn = rng.random(len(X)) * cumulated[:, -1]
        groups = (cumulated <= drawn[:, None]).sum(axis=1)
        return self.normal.draw(column, groups, rng)


class NeverSeen:
    """A value no normal row holds: a new text, or a number one to ten times the column's range outside of it."""

    def __init__(self, normal: NormalRows) -> None:
        self.normal = normal

    def possible(self, X: pd.DataFrame) -> BoolArray:
        return np.broadcast_to(self.normal.plantable, X.shape)

    def values(self, X: pd.DataFrame, column: int, rng: Generator) -> Values:
        known = self.normal.X.iloc[:, column].dropna()
        if not is_numeric_dtype(known):
            return _new_texts(len(X), set(known.unique()), rng)
        least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        beyond = (most - least or 1.0) * rng.uniform(1, 10, len(X))
        numbers = np.where(rng.random(len(X)) < 0.5, least - beyond, most + beyond)
        whole = bool((known % 1 == 0).all())
        return np.where(numbers < least, np.floor(numbers), np.ceil(numbers)) if whole else numbers


def _new_texts(n: int, known: set[Any], rng: Generator) -> Values:
    """Words of eight random letters, so that errors in one file do not make each other known values."""
    words = np.array(["".join(letters) for letters in rng.choice(list(_LETTERS), (n, 8))], dtype=object)
    while (taken := np.isin(words, list(known))).any():
        words[taken] = _new_texts(int(taken.sum()), known, rng)
    return words


class Typo:
    """The cell's own value with one letter changed, dropped or doubled; in numbers a digit."""

    def __init__(self, normal: NormalRows) -> None:
        self.normal = normal

    def possible(self, X: pd.DataFrame) -> BoolArray:
        present: BoolArray = X.notna().to_numpy() & self.normal.plantable
        return present

    def values(self, X: pd.DataFrame, column: int, rng: Generator) -> Values:
        cells = X.iloc[:, column]
        if not is_numeric_dtype(cells):
            return np.array([mistyped(str(value), _LETTERS, rng) for value in cells], dtype=object)
        texts = (np.format_float_positional(value, trim="-") for value in cells.to_numpy(np.float64))
        return np.array([_mistyped_number(text, rng) for text in texts])


_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"


def mistyped(text: str, letters: str, rng: Generator) -> str:
    """A text with one letter (or digit) changed, dropped or doubled; never the same text, and never an empty one."""
    places = [at for at, letter in enumerate(text) if letter.isalnum()] or range(len(text))
    if not text:
        return letters[0]
    at = int(rng.choice(places))
    others = [letter for letter in letters if letter != text[at].lower()]
    other = str(rng.choice(others))
    changes = [other.upper() if text[at].isupper() else other, text[at] * 2]
    if len(text) > 1:
        changes.append("")
    return text[:at] + changes[rng.integers(len(changes))] + text[at + 1 :]


def _mistyped_number(text: str, rng: Generator) -> float:
    """The same for a number; 0 and 00 are one number, so that a typo may have to be tried again."""
    while True:
        typed = mistyped(text, _DIGITS, rng)
        if any(letter.isdigit() for letter in typed) and float(typed) != float(text):
            return float(typed)


PLANTINGS: dict[str, type[Planting]] = {
    "another row's value": OtherRowsValue,
    "contradiction": Contradiction,
    "never seen": NeverSeen,
    "typo": Typo,
}


@dataclass(frozen=True, eq=False)
class Planted:
    """A table with wrong cells, at (`row`, `column`); `source` says which row of the untouched table each row was.

    `contradicts` is the column whose value each wrong cell contradicts, None where errors are no contradictions. `way`
    is the number of the way each was planted, where there are several.
    """

    X: pd.DataFrame
    row: IntArray
    column: IntArray
    source: IntArray
    contradicts: IntArray | None = None
    way: IntArray | None = None

    @property
    def wrong(self) -> BoolArray:
        """Which cells are wrong, shape (N, C)."""
        found = np.zeros(self.X.shape, dtype=np.bool_)
        found[self.row, self.column] = True
        return found


def plant_one(X: pd.DataFrame, planting: Planting, rng: Generator) -> Planted:
    """A copy of each row with one wrong cell; rows in which none is possible are left out."""
    possible = planting.possible(X)
    rows = np.flatnonzero(possible.any(axis=1))
    column = np.where(possible[rows], rng.random((len(rows), X.shape[1])), -1.0).argmax(axis=1)
    places, copy = np.arange(len(rows)), X.iloc[rows].reset_index(drop=True)
    contradicts = planting.partner[column] if isinstance(planting, Contradiction) else None
    return Planted(_put(copy, planting, places, column, rng), places, column, rows, contradicts)


def plant_share(X: pd.DataFrame, plantings: Mapping[str, Planting], share: float, rng: Generator) -> Planted:
    """All rows, this share of all cells wrong: each way of planting makes as many of them, as far as it can."""
    free = np.ones(X.shape, dtype=np.bool_)
    wanted = np.array_split(np.arange(round(share * X.size)), len(plantings))
    table, found = X, []
    for planting, part in zip(plantings.values(), wanted, strict=True):
        cells = np.flatnonzero(planting.possible(X) & free)
        chosen = np.sort(rng.choice(cells, min(len(part), len(cells)), replace=False))
        row, column = np.unravel_index(chosen, X.shape)
        # What is put there depends on the row as it was, so that errors do not build on each other.
        table = _put(table, planting, row, column, rng, own=X)
        free[row, column] = False
        found.append((row, column))
    row, column = (np.concatenate(each) for each in zip(*found, strict=True))
    way = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    return Planted(table, row, column, np.arange(len(X)), way=way)


def _put(
    X: pd.DataFrame,
    planting: Planting,
    row: IntArray,
    column: IntArray,
    rng: Generator,
    own: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The table with wrong values in these cells, chosen by the rows of `own`, those of the table unless given."""
    import pandas as pd

    own = X if own is None else own
    columns: list[Values] = [X.iloc[:, j].to_numpy() for j in range(X.shape[1])]
    for j in np.unique(column):
        here = row[column == j]
        columns[j] = _with(columns[j], here, planting.values(own.iloc[here], int(j), rng))
    return pd.DataFrame(dict(enumerate(columns)), index=X.index).set_axis(X.columns, axis=1)


def _with(cells: Values, rows: IntArray, values: Sequence[Any] | Values) -> Values:
    """A copy of a column with other values in these rows; whole numbers stay whole where they can."""
    new = np.asarray(values)
    if cells.dtype.kind in "iu" and new.dtype.kind == "f" and (new % 1 == 0).all() and (abs(new) < 2**62).all():
        new = new.astype(np.int64)
    copy = cells.astype(np.result_type(cells, new)) if cells.dtype != object else cells.copy()
    copy[rows] = new
    return copy
