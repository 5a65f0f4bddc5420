"""Cells with values that had not been seen: what they hold, and which code that is once more rows were learned from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maskdiff.codes import BoolArray
from maskdiff.encoders.base import UnseenValue
from maskdiff.encoders.table.codings import Bins
from maskdiff.encoders.table.column_coder import ColumnCoder
from maskdiff.encoders.table.column_types import NumericType
from maskdiff.encoders.table.columns import Column


def cell_values(coder: ColumnCoder, column: Column, cells: BoolArray) -> list[UnseenValue]:
    """What these cells of a column hold: a key, or for columns in bins a number; None where they are missing."""
    part = coder.marked(column.take(cells))
    missing = part.missing.tolist()
    if part.is_empty:
        found: list[Any] = [None] * len(missing)
    elif isinstance(coder.coding, Bins):
        assert isinstance(coder.column_type, NumericType)
        found = coder.column_type.numbers(part).tolist()
    else:
        values, index = part.distinct()
        keys = [*coder.column_type.keys(part, values), None]
        found = [keys[at] for at in index.tolist()]
    return [(None,) if gone else _usable(coder, value) for value, gone in zip(found, missing, strict=True)]


def value_code(coder: ColumnCoder, value: UnseenValue) -> tuple[int, float]:
    """The code of a value, and what it costs more for being beyond the range."""
    unseen, within = coder.field.size, coder.coding.range
    if value == (None,):
        return unseen - coder.has_missing, 0.0
    if not value or not _usable(coder, value[0]):
        return unseen, 0.0
    if not isinstance(coder.column_type, NumericType):
        return coder.coding.code_of(value[0], unseen), 0.0  # type: ignore[union-attr]
    number = np.array(value, dtype=np.float64)
    is_bins = isinstance(coder.coding, Bins)
    code = coder.coding.codes_of_numbers(number, unseen)[0] if is_bins else coder.coding.code_of(value[0], unseen)  # type: ignore[union-attr]
    return int(code), 0.0 if code < unseen or within is None else float(within.excess(number)[0])


def _usable(coder: ColumnCoder, value: Any) -> UnseenValue:
    """The value if such a column can hold it, else nothing."""
    types = (float, int) if isinstance(coder.coding, Bins) else coder.column_type.key_types
    fits = type(value) in types and (isinstance(value, str) or math.isfinite(value))
    return (value,) if fits else ()
