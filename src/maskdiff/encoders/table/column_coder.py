"""ColumnCoder: one column of a table to codes, as its coding says; itself to plain state and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray
from maskdiff.encoders.table.beyond import NumberRange
from maskdiff.encoders.table.codings import Bins, Levels, coding_from
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, Key, NumericType
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.recognition import marked, written
from maskdiff.errors import ModelFileError


class CodeMeaning(StrEnum):
    """What a code means that stands for no single value of its column."""

    MISSING = "no value at all"
    RARE = "one of many rare values"
    INTERVAL = "some value of an interval"
    COMPUTED = "computed from other columns"
    FREE_TEXT = "some text"


@dataclass(frozen=True)
class ColumnCoder:
    """How one column is coded: its cells into codes, itself into plain state and back."""

    column_type: ColumnType
    field: Field
    coding: Levels | Bins
    has_missing: bool
    marks: tuple[str, ...] = ()

    @property
    def missing(self) -> float:
        """The share of normal rows without a value."""
        return self.field.counts[-1] / sum(self.field.counts) if self.has_missing else 0.0

    def encode(self, column: Column) -> NDArray[np.int64]:
        """Codes of the column's cells, shape (n,); each depends on its own cell alone."""
        column = self.marked(column)
        missing = self.field.size - self.has_missing
        if column.is_empty:
            codes = np.full(len(column.array), missing, np.int64)
        else:
            codes = self.coding.codes(self.column_type, column, self.field.size)  # type: ignore[arg-type]
            codes[column.missing] = missing
        if column.mark is not None:
            codes = np.where(column.mark >= 0, self.coding.size + column.mark, codes)
        return codes

    def excess(self, column: Column, codes: NDArray[np.int64]) -> FloatArray | None:
        """What the column's cells, which have these codes, cost more for being beyond the range; None: none is."""
        unseen, within = codes == self.field.size, self.coding.range
        if within is None or column.is_empty or not unseen.any():
            return None
        excess = np.zeros(len(codes))
        excess[unseen] = within.excess(self._numbers(column.take(unseen)))
        return excess if excess.any() else None

    def value_of(self, code: int) -> tuple[Key, str] | CodeMeaning:
        """The key that this code stands for and its text, or what it means if it stands for no single value."""
        if self.has_missing and code == self.field.size - 1:
            return CodeMeaning.MISSING
        if self.column_type.is_free_text:
            return CodeMeaning.FREE_TEXT
        if code >= self.coding.size:
            mark = self.marks[code - self.coding.size]
            return mark, mark
        if isinstance(self.coding, Bins):
            return CodeMeaning.INTERVAL
        if code >= len(self.coding.levels):
            return CodeMeaning.RARE
        key = self.coding.levels[code]
        return key, self.column_type.cell_text(key)

    def notes(self, column: Column) -> list[str]:
        """What there is to say about each cell besides its value; mostly nothing.

        Which number seen a number is beyond, that a text is no number, and which category one looks like.
        """
        if isinstance(self.coding, Levels) and not isinstance(self.column_type, NumericType):
            return self.coding.notes(self.column_type, column)
        if column.is_empty:
            return [""] * len(column.array)
        column = self.marked(column)
        numbers, within = self._numbers(column), self.coding.range
        notes = [""] * len(numbers) if within is None else within.notes(numbers, self._ends(within))
        unread = np.isnan(numbers) & column.array.is_valid().to_numpy(zero_copy_only=False)
        return [f"no {self.column_type.general}" if none else note for none, note in zip(unread, notes, strict=True)]

    def meant(self, column: Column) -> list[tuple[int, ...]]:
        """The codes of the values that each cell may stand for, being a slip of the keyboard; mostly none."""
        if isinstance(self.coding, Levels) and not isinstance(self.column_type, NumericType):
            return self.coding.meant(self.column_type, column)
        return [()] * len(column.array)

    def marked(self, column: Column) -> Column:
        """The column with the cells that are marks apart from the others."""
        return marked(written(column, self.column_type), self.marks) if self.marks else column

    def _numbers(self, column: Column) -> FloatArray:
        assert isinstance(self.column_type, NumericType)
        return self.column_type.numbers(column)

    def _ends(self, within: NumberRange) -> tuple[str, str]:
        """The smallest and the largest number seen, in words."""
        assert isinstance(self.column_type, NumericType)
        smallest, largest = self.column_type.ends
        if self.column_type.has_tails:
            low, high = self.column_type.texts((within.low, within.high))
        else:  # some numbers beyond those seen are not unseen yet: the labels of the end bins say which were seen
            labels = [self.field.labels[at].strip("[(])").split(", ") for at in (0, self.field.n_ordered - 1)]
            low, high = labels[0][0], labels[1][-1]
        return f"{smallest} seen {low}", f"{largest} seen {high}"

    def to_state(self) -> dict[str, Any]:
        return {
            "name": self.field.name,
            "type": self.column_type.name,
            "labels": list(self.field.labels),
            "counts": list(self.field.counts),
            "singletons": self.field.singletons,
            "has_missing": self.has_missing,
            "marks": list(self.marks),
            "options": self.column_type.options(),
            **self.coding.to_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> ColumnCoder:
        """The coder that `to_state` described; nothing is taken on trust."""
        try:
            if state["type"] not in COLUMN_TYPES:
                raise ModelFileError(f"the model file has a column of the type {state['type']!r}, which is not known.")
            column_type, coding = COLUMN_TYPES[state["type"]].with_options(state["options"]), coding_from(state)
            field = field_from(state, column_type, coding)
            coder = cls(column_type, field, coding, state["has_missing"], tuple(state["marks"]))
            faults = coder.faults()
        except (KeyError, TypeError, AttributeError) as error:
            raise ModelFileError(
                f"the model file describes a column in a way that cannot be read: {error!r}."
            ) from error
        if faults:
            raise ModelFileError(f"the model file is damaged: column {coder.field.name!r}: {'; '.join(faults)}.")
        return coder

    def faults(self) -> list[str]:
        counts = [*self.field.counts, self.field.singletons]
        checks = {
            "whether it has missing values is not said": isinstance(self.has_missing, bool),
            "its labels are not texts": all(isinstance(label, str) for label in self.field.labels),
            "its counts are not positive integers": all(type(n) is int for n in counts) and min(self.field.counts) > 0,
            "labels, counts and codes differ in number": len(self.field.labels)
            == len(self.field.counts)
            == self.coding.size + len(self.marks) + self.has_missing,
            "its marks are not those of its type": set(self.marks) <= set(self.column_type.marks)
            and len(set(self.marks)) == len(self.marks),
        }
        return [fault for fault, passed in checks.items() if not passed] + self.coding.faults(self.column_type)


def field_of(
    name: str,
    column_type: ColumnType,
    coding: Levels | Bins,
    labels: Sequence[str],
    counts: Sequence[int],
    once: int,
    n_marks: int = 0,
) -> Field:
    """The field of a coded column. Numbers that are few enough to be levels are shown as categories."""
    levels, numeric = isinstance(coding, Levels), isinstance(column_type, NumericType)
    ordered = column_type.ordered_levels if levels else True
    shown = "category" if levels and numeric else column_type.general
    middles = coding.middles if isinstance(coding, Bins) else ()
    return Field(name, shown, tuple(labels), tuple(counts), once, ordered, n_marks, middles)


def field_from(state: dict[str, Any], column_type: ColumnType, coding: Levels | Bins) -> Field:
    counts, once, n_marks = state["counts"], state["singletons"], len(state["marks"])
    return field_of(str(state["name"]), column_type, coding, state["labels"], counts, once, n_marks)
