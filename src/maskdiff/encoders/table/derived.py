"""Fields that are computed from the dates of a row: the day of the week, the hour, the time between two dates.

Each is a field of the schema like a column, behind all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskdiff.codes import Field, FloatArray
from maskdiff.encoders.table.arrays import DAY
from maskdiff.encoders.table.column_coder import ColumnCoder
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, NumericType
from maskdiff.encoders.table.column_types.derived import HOUR, difference_text
from maskdiff.encoders.table.columns import Column
from maskdiff.errors import ModelFileError

# The ticks of date columns by name, NaN where missing.
Moments = Mapping[str, FloatArray]
# Of the first so many date columns, each pair has a difference.
MOST_DATES = 6
# 1970-01-01 was a Thursday.
_THURSDAY = 3


def _difference(first: FloatArray, second: FloatArray) -> FloatArray:
    return first - second


def _weekday(at: FloatArray) -> FloatArray:
    return (np.floor(at / DAY) + _THURSDAY) % 7


def _hour(at: FloatArray) -> FloatArray:
    return np.floor(at / HOUR) % 24


@dataclass(frozen=True)
class Rule:
    """How a field is computed from the ticks of its sources, and what it is called after them."""

    compute: Any
    n_sources: int
    name: str


# By the column type of the field.
RULES = {
    "weekday": Rule(_weekday, 1, "{} weekday"),
    "hour": Rule(_hour, 1, "{} hour"),
    "difference": Rule(_difference, 2, "{} - {}"),
}


@dataclass(frozen=True)
class Derivation:
    """One field that is computed from dates: by which rule, from which columns."""

    rule: str
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return RULES[self.rule].name.format(*self.sources)

    def column(self, moments: Moments) -> Column:
        """The field's cells from the ticks of its sources, NaN where missing."""
        computed = RULES[self.rule].compute(*(moments[source] for source in self.sources))
        missing = np.isnan(computed)
        whole = np.where(missing, 0, computed).clip(-(2.0**62), 2.0**62).astype(np.int64)
        return Column(self.name, pa.array(whole, mask=missing), COLUMN_TYPES[self.rule])


def derivations(dates: list[str]) -> list[Derivation]:
    """What is computed from these columns; of two, the first one comes second in the name, as it is mostly earlier.

    >>> [one.name for one in derivations(["loss", "reported"])]
    ['loss weekday', 'reported weekday', 'loss hour', 'reported hour', 'reported - loss']
    """
    dates = dates[:MOST_DATES]
    alone = [Derivation(rule, (name,)) for rule, how in RULES.items() if how.n_sources == 1 for name in dates]
    return alone + [Derivation("difference", (later, earlier)) for earlier, later in combinations(dates, 2)]


@dataclass(frozen=True)
class DerivedField:
    """A field of the schema that is computed from dates. `usual` is what most normal rows hold, of differences."""

    derivation: Derivation
    coder: ColumnCoder
    usual: tuple[float, float] | None

    @property
    def field(self) -> Field:
        return self.coder.field

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def column_type(self) -> ColumnType:
        return self.coder.column_type

    @property
    def missing(self) -> float:
        """The share of normal rows without a value."""
        return self.coder.missing

    def column(self, moments: Moments) -> Column:
        return self.derivation.column(moments)

    def encode(self, column: Column) -> NDArray[np.int64]:
        """Codes, shape (n,). Where a date is missing that never was, its own column says so; here it is as usual."""
        codes = self.coder.encode(column)
        if not self.coder.has_missing:
            codes[column.missing] = int(np.argmax(self.field.counts))
        return codes

    def excess(self, column: Column, codes: NDArray[np.int64]) -> FloatArray | None:
        """As that of a column."""
        return self.coder.excess(column, codes)

    def notes(self, column: Column) -> list[str]:
        """What is usual."""
        note = "" if self.usual is None else f"usually {usual_text(*self.usual)}"
        return [note] * len(column.array)

    def meant(self, column: Column) -> list[tuple[int, ...]]:
        """Nobody types what is computed."""
        return [()] * len(column.array)

    def phrase(self, value: str) -> str | None:
        """A cell with this value as a person says it; None: the name and the value say enough.

        With a value of "30 days before" it is "reported 30 days before loss_date".
        """
        if self.usual is None or value == "missing":
            return None
        return f"{self.derivation.sources[0]} {value} {self.derivation.sources[1]}"

    def to_state(self) -> dict[str, Any]:
        usual = None if self.usual is None else list(self.usual)
        derivation = {"rule": self.derivation.rule, "sources": list(self.derivation.sources), "usual": usual}
        return derivation | self.coder.to_state()

    @classmethod
    def from_state(cls, state: dict[str, Any], dates: list[str]) -> DerivedField:
        """The field that `to_state` described, if it is computed from some of these date columns."""
        rule, sources, usual = state["rule"], tuple(state["sources"]), state["usual"]
        coder = ColumnCoder.from_state(state)
        numbers = usual is None or (len(usual) == 2 and all(type(end) is float and np.isfinite(end) for end in usual))
        checks = {
            "it is computed by no known rule": rule in RULES and coder.column_type is COLUMN_TYPES[rule],
            "it is computed from columns that are no dates": set(sources) <= set(dates),
            "it is computed from too few or too many columns": rule in RULES and len(sources) == RULES[rule].n_sources,
            "what is usual is not said": numbers and (usual is not None) == (rule == "difference"),
        }
        faults = [fault for fault, passed in checks.items() if not passed]
        if faults:
            raise ModelFileError(f"the model file is damaged: field {coder.field.name!r}: {'; '.join(faults)}.")
        return cls(Derivation(rule, sources), coder, None if usual is None else (usual[0], usual[1]))


def moments_of(coder: ColumnCoder, column: Column) -> FloatArray:
    """The ticks of a date column, NaN where missing and for marks, shape (n,)."""
    assert isinstance(coder.column_type, NumericType)
    column = coder.marked(column)
    return np.full(len(column.array), np.nan) if column.is_empty else coder.column_type.numbers(column)


def usual_text(low: float, high: float) -> str:
    """
    >>> usual_text(0, 14 * DAY), usual_text(-3 * DAY, DAY), usual_text(DAY, 2 * DAY)
    ('0 to 14 days after', '3 days before to 1 day after', '1 to 2 days after')
    """
    left, right = difference_text(low), difference_text(high)
    if left == right:
        return left
    if 0 in (low, high):
        return f"0 to {right if low == 0 else left}"
    (count, *unit), (_, *other) = left.replace("day ", "days ").split(), right.replace("day ", "days ").split()
    return f"{count} to {right}" if unit == other else f"{left} to {right}"
