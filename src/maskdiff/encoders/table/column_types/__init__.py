"""The types a column may have. One object for each, and one line here; see `base.ColumnType` for what it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

import pyarrow as pa

from maskdiff.encoders.table.column_types.base import ColumnType, Key, NumericType, escaped
from maskdiff.encoders.table.column_types.categories import BooleanType, CategoryType
from maskdiff.encoders.table.column_types.dates import (
    DAY_FIRST_DATE,
    MONTH_FIRST_DATE,
    DateType,
    DurationType,
    TimeType,
)
from maskdiff.encoders.table.column_types.derived import DifferenceType, HourType, WeekdayType
from maskdiff.encoders.table.column_types.numbered_dates import NUMBERED
from maskdiff.encoders.table.column_types.numbers import IntegerType, NumberType
from maskdiff.encoders.table.column_types.texts import FreeTextType

__all__ = [
    "CATEGORY",
    "COLUMN_TYPES",
    "ColumnType",
    "DateType",
    "Key",
    "NumericType",
    "arrow_column_type",
    "escaped",
    "general_names",
    "most_special_first",
    "object_column_type",
]

CATEGORY = CategoryType()
# From the most general to the most special. The last that fits is taken, so a type added from outside goes first.
COLUMN_TYPES: dict[str, ColumnType] = {
    "category": CATEGORY,
    "text": FreeTextType(),
    "weekday": WeekdayType(),
    "hour": HourType(),
    "difference": DifferenceType(),
    "number": NumberType(),
    "integer": IntegerType(),
    "boolean": BooleanType(),
    **{one.name: one for one in (*NUMBERED, MONTH_FIRST_DATE, DAY_FIRST_DATE)},
    "date": DateType(),
    "time": TimeType(),
    "duration": DurationType(),
}


def most_special_first() -> Iterator[ColumnType]:
    return reversed(COLUMN_TYPES.values())


def general_names() -> list[str]:
    """The types that users name in `columns=`.

    >>> general_names()
    ['category', 'text', 'number', 'date']
    """
    return [column_type.name for column_type in COLUMN_TYPES.values() if column_type.general == column_type.name]


def arrow_column_type(arrow_type: pa.DataType) -> ColumnType:
    """The type of a column of this arrow type."""
    return next((one for one in most_special_first() if one.is_arrow(arrow_type)), CATEGORY)


def object_column_type(classes: Iterable[type]) -> ColumnType:
    """The type of a column that holds Python objects of these classes: categories where they differ too much.

    >>> object_column_type({int, float}).name, object_column_type({int, str}).name
    ('number', 'category')
    """
    found = {one.name: one for one in map(_class_column_type, classes)}.values()
    return reduce(lambda one, other: one.together(other) or CATEGORY, found) if found else CATEGORY


def _class_column_type(cls: type) -> ColumnType:
    return next((one for one in most_special_first() if issubclass(cls, one.python_types)), CATEGORY)
