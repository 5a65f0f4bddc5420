"""Codings: how a column's cells become codes, once its type and its statistics are known.

The codes of a field come in this order: its levels or bins, then *rare* where values were folded, then marks (texts
among numbers that are values of their own), then *missing* where the normal rows had missing values. Everything else
gets the code `size`, *unseen*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.beyond import NumberRange
from maskdiff.encoders.table.column_types import ColumnType, Key, NumericType
from maskdiff.encoders.table.columns import Column
from maskdiff.encoders.table.look_alikes import LookAlikes, alike_notes


@dataclass(frozen=True)
class Levels:
    """One code for each level. `folded` are the rare values: () for none, None for too many to remember.

    Where the levels are numbers, `range` is from the smallest to the largest; how far a number is beyond it counts.
    """

    levels: tuple[Key, ...]
    folded: tuple[Key, ...] | None = ()
    range: NumberRange | None = None

    @property
    def size(self) -> int:
        return len(self.levels) + (self.folded != ())

    @cached_property
    def _code_of(self) -> dict[Key, int]:
        rare = dict.fromkeys(self.folded or (), len(self.levels))
        return {**rare, **{level: code for code, level in enumerate(self.levels)}}

    def codes(self, column_type: ColumnType, column: Column, unseen: int) -> NDArray[np.int64]:
        values, index = column.distinct()
        codes = [self.code_of(key, unseen) for key in column_type.keys(column, values)]
        return np.array([*codes, unseen], np.int64)[index]  # a missing cell's index is -1

    def code_of(self, key: Key | None, unseen: int) -> int:
        """The code of one key; None is that of a cell that cannot be read."""
        other = len(self.levels) if self.folded is None else unseen
        return unseen if key is None else self._code_of.get(key, other)

    def notes(self, column_type: ColumnType, column: Column) -> list[str]:
        """For each cell the level that it is not, but that it looks like; mostly nothing."""
        values, index = column.distinct()
        texts = [key if isinstance(key, str) else "" for key in column_type.keys(column, values)]
        notes = [*alike_notes(texts, self._code_of, self._alike), ""]
        return [notes[place] for place in index.tolist()]

    def meant(self, column_type: ColumnType, column: Column) -> list[tuple[int, ...]]:
        """For each cell the codes of the levels that it is not, but that it may stand for; mostly none."""
        values, index = column.distinct()
        keys = column_type.keys(column, values)
        codes = [*(self._meant(key) if isinstance(key, str) else () for key in keys), ()]
        return [codes[place] for place in index.tolist()]

    def _meant(self, text: str) -> tuple[int, ...]:
        last = len(self.levels)
        codes = [self._code_of[level] for level in (self._alike.meant(text) if text not in self.levels else ())]
        return tuple(code for code in codes if code < last)  # a rare value has no code of its own

    @cached_property
    def _alike(self) -> LookAlikes:
        levels = (*self.levels, *(self.folded or ()))
        return LookAlikes(tuple(level for level in levels if isinstance(level, str)))

    def to_state(self) -> dict[str, Any]:
        folded = None if self.folded is None else list(self.folded)
        return {"levels": list(self.levels), "folded": folded, "range": _range_state(self.range)}

    def faults(self, column_type: ColumnType) -> list[str]:
        """What is wrong with it, if it came from a file."""
        found = {type(key) for key in (*self.levels, *(self.folded or ()))}
        checks = {
            "its levels are of the wrong type": found <= set(column_type.key_types),
            "a level is there twice": len(set(self.levels)) == len(self.levels),
            "its range is not one of numbers": self.range is None
            or (self.range.is_sound() and isinstance(column_type, NumericType)),
        }
        return [fault for fault, passed in checks.items() if not passed]


@dataclass(frozen=True)
class Bins:
    """One code for each interval between edges, closed on the right.

    The first and the last end where `range` does, and what is beyond is unseen; without it they are open-ended.
    """

    edges: tuple[float, ...]
    range: NumberRange | None = None

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    @property
    def middles(self) -> tuple[float, ...]:
        """The number in the middle of each interval; none where the ends are open.

        >>> from maskdiff.encoders.table.beyond import Tail
        >>> Bins((2.0, 4.0), NumberRange(0.0, 10.0, Tail(1.0, 0.5), Tail(1.0, 0.5))).middles
        (1.0, 3.0, 7.0)
        """
        if self.range is None:
            return ()
        ends = (self.range.low, *self.edges, self.range.high)
        return tuple(left / 2 + right / 2 for left, right in pairwise(ends))

    def codes(self, column_type: NumericType, column: Column, unseen: int) -> NDArray[np.int64]:
        numbers = column_type.numbers(column)
        return self.codes_of_numbers(numbers, unseen)

    def codes_of_numbers(self, numbers: FloatArray, unseen: int) -> NDArray[np.int64]:
        """The bins of these numbers, shape (n,)."""
        codes = np.searchsorted(np.array(self.edges, dtype=np.float64), numbers, side="left").astype(np.int64)
        codes[~(np.isfinite(numbers) if self.range is None else self.range.holds(numbers))] = unseen
        return codes

    def to_state(self) -> dict[str, Any]:
        return {"edges": list(self.edges), "range": _range_state(self.range)}

    def faults(self, column_type: ColumnType) -> list[str]:
        rising = all(type(edge) is float and math.isfinite(edge) for edge in self.edges)
        rising = rising and all(left < right for left, right in pairwise(self.edges))
        sound = self.range is None or self.range.is_sound()
        if self.range is not None and sound and rising:
            rising = all(self.range.low <= edge < self.range.high for edge in self.edges)
        checks = {
            "its range is not one of numbers": sound,
            "only numbers and dates can be in bins": isinstance(column_type, NumericType),
            "its edges do not rise": rising,
        }
        return [fault for fault, passed in checks.items() if not passed]


def coding_from(state: dict[str, Any]) -> Levels | Bins:
    within = None if state["range"] is None else NumberRange.from_state(state["range"])
    if "edges" in state:
        return Bins(tuple(state["edges"]), within)
    folded = state["folded"]
    return Levels(tuple(state["levels"]), None if folded is None else tuple(folded), within)


def _range_state(within: NumberRange | None) -> dict[str, Any] | None:
    return None if within is None else within.to_state()
