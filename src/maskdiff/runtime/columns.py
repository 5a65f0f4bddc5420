"""Columns of a table to codes. N rows, F fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cells import as_boolean, as_category, as_moment, as_number, is_missing
from .derived import DerivedColumn

_KEYS: dict[str, Callable[[Any], Any]] = {
    "category": as_category,
    "boolean": as_boolean,
    "number": as_number,
    "moment": as_moment,
}
_MOST_EXCESS = -math.log(1e-7)


@dataclass(frozen=True, eq=False)
class Rows:
    """Codes of rows, which of them are known, and what numbers beyond the range cost more, each (N, F)."""

    codes: np.ndarray
    known: np.ndarray
    excess: np.ndarray


class Column:
    """How one column is coded, as the model describes it."""

    def __init__(self, described: Mapping[str, Any], missing: frozenset[str]) -> None:
        self.name, self.size, self.type = described["name"], described["size"], described["type"]
        self.has_missing, self.plain = described["has_missing"], described["plain"]
        self.missing, self.edges, self.range = missing, described.get("edges"), described["range"]
        self.rare = None
        if self.edges is None:
            levels, folded = described["levels"], described["folded"]
            self.code_of = dict.fromkeys(folded or (), len(levels)) | {key: code for code, key in enumerate(levels)}
            self.rare = len(levels) if folded is None else None

    def encode(self, cells: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Code and excess of each cell, each (N,)."""
        found: dict[Any, tuple[int, float]] = {}
        pairs = []
        for cell in cells:
            key = (type(cell), cell)
            if key not in found:
                found[key] = self._coded(cell)
            pairs.append(found[key])
        codes, excess = zip(*pairs, strict=True) if pairs else ((), ())
        return np.array(codes, dtype=np.int64), np.array(excess, dtype=np.float64)

    def _coded(self, cell: Any) -> tuple[int, float]:
        if is_missing(cell, self.missing):
            return self.size - self.has_missing, 0.0
        if isinstance(cell, str) and not self.plain:
            raise ValueError(f"column {self.name!r}: its texts are written in a way of their own; hand over numbers.")
        key = self._key(cell)
        if key is None or (isinstance(key, float) and not math.isfinite(key) and self.range is None):
            return self.size, 0.0
        code = self._bin(key) if self.edges is not None else self.code_of.get(key, self.rare)
        code = self.size if code is None else code
        return code, self._excess(float(key)) if code == self.size and self.range is not None else 0.0

    def _key(self, cell: Any) -> Any:
        try:
            return _KEYS[self.type](cell)
        except ValueError:
            raise ValueError(
                f"column {self.name!r}: {cell!r} is no date in ISO format; hand over dates, or texts as 2024-12-31."
            ) from None

    def moments(self, cells: Sequence[Any]) -> np.ndarray:
        """The ticks of a column of dates, NaN where there is none, (N,)."""
        read = (None if is_missing(cell, self.missing) else self._key(cell) for cell in cells)
        return np.array([math.nan if ticks is None else ticks for ticks in read], dtype=np.float64)

    def _bin(self, number: float) -> int | None:
        if self.range is not None and not self.range["low"] <= number <= self.range["high"]:
            return None
        return int(np.searchsorted(np.array(self.edges), number, side="left"))

    def _excess(self, number: float) -> float:
        """What a number costs more the further it is beyond the range."""
        under, over = max(self.range["low"] - number, 0.0), max(number - self.range["high"], 0.0)
        (scale, shape), distance = (self.range["below"], under) if under > 0 else (self.range["above"], over)
        nats = math.log1p(shape * (distance / scale)) / shape if math.isfinite(distance) else math.inf
        return 1 / math.hypot(1 / max(nats, 1e-300), 1 / _MOST_EXCESS) if nats > 0 else 0.0


def encode(
    columns: Sequence[Column], table: Mapping[str, Sequence[Any]], derived: Sequence[DerivedColumn] = ()
) -> Rows:
    """The rows of a table, given by column; behind them the fields that are computed from dates."""
    lacking = [column.name for column in columns if column.name not in table]
    if lacking:
        raise ValueError(f"the table lacks the columns {', '.join(map(repr, lacking[:5]))}.")
    given = {column.name: list(table[column.name]) for column in columns}
    if len({len(cells) for cells in given.values()}) > 1:
        raise ValueError("the columns differ in length.")
    parts = [column.encode(given[column.name]) for column in columns]
    sources = {name for one in derived for name in one.sources}
    moments = {column.name: column.moments(given[column.name]) for column in columns if column.name in sources}
    parts += [one.encode(moments) for one in derived]
    codes, excess = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
    sizes = np.array([column.size for column in columns] + [one.size for one in derived])
    return Rows(codes, codes < sizes, excess)
