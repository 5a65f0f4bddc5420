"""What rows are ordered by: dates, times and numbers, and texts that stand for them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.table.arrays import is_text
from maskdiff.encoders.table.cells import parse_number
from maskdiff.encoders.table.column_types import most_special_first
from maskdiff.encoders.table.column_types.dates import TickType
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.errors import ColumnTypeError, OrderWarning

# At least this share of the texts must stand for dates or numbers.
_READABLE = 0.5


def orderable(values: pa.Array) -> pa.Array:
    """The values as moments or numbers, null where a row has neither.

    >>> orderable(pa.array(["2024-03-01", "soon", "2023-12-31"])).is_valid().to_pylist()
    [True, False, True]
    """
    values = _plain(values)
    if is_text(values.type):
        return _from_texts(values)
    if pat.is_floating(values.type):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if pat.is_temporal(values.type) or pat.is_integer(values.type) or pat.is_decimal(values.type):
        return values
    raise _no_order("nothing" if values.null_count == len(values) else f"values of type {values.type}")


def _plain(values: pa.Array) -> pa.Array:
    """The values themselves, texts of one type and null where they are missing."""
    values = values.dictionary_decode() if pat.is_dictionary(values.type) else values
    if pat.is_string(values.type) or pat.is_string_view(values.type):
        values = values.cast(pa.large_string())
    return MissingTexts().without(values) if is_text(values.type) else values


def _from_texts(texts: pa.Array) -> pa.Array:
    """Texts as the type that most of them can be read as."""
    distinct = texts.dictionary_encode()
    arrays = (array.take(distinct.indices) for array in _as_each_type(distinct.dictionary))
    array = min(arrays, key=lambda one: one.null_count)
    n_texts, n_read = len(texts) - texts.null_count, len(texts) - array.null_count
    if n_read < max(1, _READABLE * n_texts):
        raise _no_order(f"texts such as {distinct.dictionary[0].as_py()!r}" if n_texts else "nothing")
    return array


def _as_each_type(texts: pa.Array) -> Iterator[pa.Array]:
    """The texts as each type that has an order, null where they are not of that type."""
    for column_type in most_special_first():
        # Every number could be the seconds since 1970, but that takes all of them to say so.
        if isinstance(column_type, TickType) and not column_type.reads_numbers:
            yield column_type.from_texts(texts)
    yield pa.array([parse_number(text) for text in texts.to_pylist()], pa.float64())


def _no_order(found: str) -> ColumnTypeError:
    return ColumnTypeError(
        f"rows cannot be ordered by a column that holds {found}: dates, such as 2024-09-25, or numbers are needed."
    )


def warn_of_unordered(values: pa.Array, ordered: pa.Array) -> None:
    """Say how many rows have no place in the order, `ordered` being the values as `orderable` reads them."""
    if not ordered.null_count:
        return
    values = _plain(values)
    unread = values.filter(pc.and_(values.is_valid(), ordered.is_null())) if is_text(values.type) else values[:0]
    example = f" ({len(unread):,} of them a text such as {unread[0].as_py()!r})" if len(unread) else ""
    rows = "1 row has" if ordered.null_count == 1 else f"{ordered.null_count:,} rows have"
    warnings.warn(
        OrderWarning(f"{rows} no date or number to be ordered by{example}: taken as the last in time."), stacklevel=2
    )
