"""ColumnType: everything maskdiff knows about one type of column, in one object.

Every place that has to know what a column holds asks this object: the encoder (recognise, read, code, display), the
statistics (row ids, types that change between batches), the CSV reader (which texts are of this type) and the report.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import canonical_texts, declared, text_hashes
from maskdiff.encoders.table.beyond import NumberRange, learned_range
from maskdiff.encoders.table.marks import are_few, usual_marks
from maskdiff.errors import ColumnTypeError, ModelFileError

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column
    from maskdiff.encoders.table.statistics import ColumnStatistics

Key = str | int | float

# Labels that have a meaning of their own.
RESERVED = ("", "missing", "rare", "unseen")


@dataclass(frozen=True)
class Found:
    """What a column stands for, and what may be wrong with that, if two answers fit; `setting` names the other one.

    `damaged` says how many texts cannot be read and names one, where there are any.
    """

    column_type: ColumnType
    doubt: str | None = None
    marks: tuple[str, ...] = ()
    setting: str | None = None
    damaged: str | None = None

    def with_marks(self) -> Found:
        """The same, its type one that knows the marks among its values."""
        return replace(self, column_type=self.column_type.with_marks(self.marks)) if self.marks else self


class TextFit:
    """Whether a column of texts can be of one type, batch after batch. A type with settings of its own overrides it."""

    def __init__(self, column_type: ColumnType) -> None:
        self.column_type = column_type
        self.alive = True
        self.rows = 0
        self.marks: Counter[str] = Counter()

    @property
    def proven_decimal(self) -> str | None:
        """The decimal sign of the column's numbers, where its texts leave no doubt about it."""
        return None

    def add(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        """Distinct texts, none missing, and how many rows hold each."""
        self.rows += int(counts.sum())
        if isinstance(self.column_type, NumericType):
            trimmed = pc.utf8_trim_whitespace(texts)
            usual = usual_marks(trimmed)
            found = zip(trimmed.filter(usual).to_pylist(), counts[usual.to_numpy(zero_copy_only=False)], strict=True)
            for text, count in found:
                self.marks[text] += int(count)
            texts = texts.filter(pc.invert(usual))
        self.alive = self.alive and (not len(texts) or self.column_type.fits_texts(texts))

    def merge(self, other: TextFit) -> None:
        """What was found in rows that follow these."""
        self.alive &= other.alive
        self.rows += other.rows
        self.marks += other.marks

    def found(self, decimal: str | None) -> Found | None:
        """The type, None if the column is not of it; `decimal` decides between signs where both fit."""
        few = are_few(self.marks, self.rows, only_usual=True)
        return Found(self.column_type, marks=tuple(sorted(self.marks))) if few else None


class ColumnType:
    """One type of column. The defaults are those of a type whose cells are texts, each a category.

    Cells become keys (texts or numbers, compared for equality) and keys become codes. A cell that cannot be read has
    the key None: it is refused at fit, and unseen at scoring. To add a type, subclass this, override `key` and what
    else differs, and enter an instance in `COLUMN_TYPES`.
    """

    name: str
    # What the codes of such a column are called.
    unit = "categories"
    # Whether its texts are decimal numbers, which may be shortened where they are shown.
    is_decimal = False
    # Whether levels, in the order of their keys, are steps: S, M, L are, colours are not.
    ordered_levels = False
    # What its keys may be; a model file with other ones is damaged.
    key_types: tuple[type, ...] = (str,)
    # Whether its cells are sentences, judged by what they say.
    is_free_text = False
    # The type of a column that holds this one in some batches and that one in others.
    widens_to: str | None = None

    @property
    def general(self) -> str:
        """The name that users give and see: an integer, for one, is a special case of a number."""
        return self.name

    @property
    def plural(self) -> str:
        """Its cells, in messages."""
        return f"{self.general} values"

    # Recognising -----------------------------------------------------------------------------------------------------

    # Classes of Python objects that are of this type.
    python_types: tuple[type, ...] = ()

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        """Whether arrow columns of this type are of it."""
        return False

    def refined(self, found: ColumnType) -> ColumnType:
        """The type that reads cells of type `found` where the user named this one: itself or a special case of it."""
        return found if found.general == self.name else self

    def together(self, other: ColumnType) -> ColumnType | None:
        """The type of a column that holds both; None if there is none."""
        if other.name in (self.name, self.widens_to):
            return other
        return self if other.widens_to == self.name else None

    # Whether such a column may only name its rows: how often its values repeat is watched.
    may_be_key = False

    def watched(self, column: Column) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Values of the column that are there as integers, or hashes of them, and how many rows hold each."""
        values, index = column.distinct()
        counts = np.bincount(index[index >= 0], minlength=len(values))
        return text_hashes(canonical_texts(values))[counts > 0], counts[counts > 0]

    def row_id(self, learned: ColumnStatistics) -> str | None:
        """Why a column with these statistics only names the rows; None if it does not."""
        return None

    def is_near_id(self, learned: ColumnStatistics) -> bool:
        """Whether a column with these statistics nearly does, so that only the values that repeat count."""
        return False

    # Texts -----------------------------------------------------------------------------------------------------------

    # Whether numbers of a declared type may stand for it, as 20240925 does for a date.
    reads_numbers = False
    # What every text of such a column matches, without the spaces around it; None: no texts are taken for this type.
    text_pattern: str | None = None
    # Texts that are values of their own beside what the type reads: "unknown" among numbers.
    marks: tuple[str, ...] = ()
    # One of its texts and what it was read as, where they differ.
    example: str | None = None

    def text_fit(self) -> TextFit | None:
        """A look at a column of texts that says whether it is of this type; None: texts never are."""
        return TextFit(self)

    def options(self) -> dict[str, Any]:
        """How this column of the type is read, where columns differ in that, as plain values for a model file."""
        return {"marks": list(self.marks)} if self.marks else {}

    def with_options(self, options: Any) -> ColumnType:
        """The type that reads as these `options` say; anything it cannot have said itself is refused."""
        if not isinstance(options, dict) or not set(options) <= {"marks"}:
            raise ModelFileError(f"the model file is damaged: a column of type {self.name} has no such options.")
        marks = options.get("marks", [])
        if not isinstance(marks, list) or not all(isinstance(mark, str) for mark in marks):
            raise ModelFileError("the model file is damaged: the marks of a column are no texts.")
        return self.with_marks(tuple(marks)) if marks else self

    def with_marks(self, marks: tuple[str, ...]) -> ColumnType:
        """The same type, with these marks among its values."""
        made = copy.copy(self)
        made.marks = marks
        return made

    def fits_name(self, name: str) -> bool:
        """Whether a column of this name may be of this type, if its texts are."""
        return True

    def fits_texts(self, texts: pa.Array) -> bool:
        """Whether these distinct texts, none missing, are all of this type."""
        if self.text_pattern is None or not all_match(texts, self.text_pattern):
            return False
        try:
            self.from_texts(texts)
        except (pa.ArrowInvalid, ValueError, OverflowError):  # 2024-02-31, or too many digits
            return False
        return True

    def from_texts(self, texts: pa.Array) -> pa.Array:
        """Texts that fit, as an array that is recognised as this type."""
        return declared(texts, self.name)

    # Reading and display ---------------------------------------------------------------------------------------------

    def key(self, text: str) -> Key | None:
        """The key of a cell with this canonical text."""
        return text

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        """The key of each of these values of the column, none of them null."""
        return [self.key(text) for text in canonical_texts(values)]

    def texts(self, keys: Sequence[Any]) -> list[str]:
        """What a person reads for these keys; different keys get different texts."""
        return [str(key) for key in keys]

    def cell_text(self, key: Any) -> str:
        """A text that has this key in a column of the type."""
        return str(key)

    def display(self, column: Column) -> list[str]:
        """Every cell as a person reads it."""
        values, index = column.distinct()
        texts = [*map(escaped, canonical_texts(values)), "missing"]
        return [texts[place] for place in index.tolist()]


class NumericType(ColumnType):
    """A type whose keys are numbers. More than a few distinct ones are cut into bins."""

    unit = "bins"
    key_types: tuple[type, ...] = (int, float)
    # Whether the ends of the range are cut finer, and what is beyond it is unseen.
    has_tails = True
    # What the least and the greatest are called.
    ends = ("smallest", "largest")
    # Whether a few distinct values are levels, and any other value is unseen.
    has_levels = True

    def range_of(self, values: FloatArray, counts: NDArray[np.int64], low: float, high: float) -> NumberRange | None:
        """Beyond it a number is unseen; None: none is. The normal rows held these, from `low` to `high`."""
        return learned_range(values, counts, low, high) if self.has_tails else None

    def numbers(self, column: Column) -> FloatArray:
        """The number of each cell, NaN where it is missing or cannot be read, shape (n,)."""
        values, index = column.distinct()
        keys = self.keys(column, values)
        return np.array([*(np.nan if key is None else float(key) for key in keys), np.nan])[index]

    def bounds(self, numbers: Sequence[float]) -> list[str]:
        """Texts of these numbers, as short as keeps them apart."""
        return self.texts(numbers)


def escaped(text: str) -> str:
    """A value that happens to be called "missing" is not a missing value.

    >>> escaped("missing"), escaped("red")
    ("'missing'", 'red')
    """
    return repr(text) if text in RESERVED else text


def all_match(texts: pa.Array, pattern: str) -> bool:
    """Whether every text, without the spaces around it, matches."""
    return bool(pc.all(pc.match_substring_regex(pc.utf8_trim_whitespace(texts), pattern)).as_py())


def first_distinct(values: Sequence[Any], candidates: Iterable[list[str]]) -> list[str]:
    """The first list of texts that keeps different values apart, or else the last."""
    wanted, texts = len(set(values)), [str(value) for value in values]
    for texts in candidates:
        if len(set(texts)) == wanted:
            break
    return texts


def type_error(column: Column, column_type: ColumnType, found: object) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {column.name!r} was to be read as {column_type.plural}, but holds {found}. Convert the column, "
        f"or fit with columns={{{column.name!r}: ...}} naming how to read it.",
        setting="columns",
    )
