"""One column of a table of any library, as a pyarrow array whose missing cells are nulls.

NaN, None, pandas' NA and NaT are all missing; which texts are, `missing` says. Columns with a declared type keep it
in one plain form. Columns of Python objects say nothing about their cells, so each cell becomes its canonical text, and
the classes found in it decide the column's type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.encoders.table.arrays import DeclaredTexts
from maskdiff.encoders.table.cells import cell_text
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, arrow_column_type, object_column_type
from maskdiff.errors import ColumnTypeError

NESTED = (list, tuple, dict, set, frozenset, np.ndarray)


def as_large_string(array: Any) -> Any:
    return array.cast(pa.large_string())


def as_wide_decimal(array: Any) -> Any:
    return array.cast(pa.decimal256(76, array.type.scale))


def shortest(array: Any) -> Any:
    """32-bit floats as the numbers their owner wrote: 0.1, not 0.10000000149011612, so that both widths agree."""
    return without_nan(as_large_string(array).cast(pa.float64()))


def without_nan(array: Any) -> Any:
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


# Arrow has several types for the same cells; one plain type of each is used from here on.
PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (lambda held: pat.is_string(held) or pat.is_string_view(held) or pat.is_null(held), as_large_string),
    (lambda held: pat.is_floating(held) and held.bit_width < 64, shortest),
    (pat.is_float64, without_nan),
    (pat.is_decimal, as_wide_decimal),
    (pat.is_run_end_encoded, lambda array: plain(pc.run_end_decode(array))),
)


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its cells (nulls are missing) and its type."""

    name: str
    array: pa.Array
    type: ColumnType
    # Where cells that are marks were taken apart and are null: which of the marks each is, -1 for none. In a column to
    # learn from the number behind the last stands for what cannot be read.
    mark: NDArray[np.int64] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no cell holds a value; the type of such a column says nothing."""
        return bool(self.array.null_count == len(self.array))

    @property
    def missing(self) -> NDArray[np.bool_]:
        missing: NDArray[np.bool_] = self.array.is_null().to_numpy(zero_copy_only=False)
        return missing if self.mark is None else missing & (self.mark < 0)

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """The cells of the rows where this is True."""
        return replace(self, array=self.array.filter(pa.array(rows)))

    def distinct(self) -> tuple[pa.Array, NDArray[np.int64]]:
        """Values among which are all those of the column, none null, and where each cell is (-1: missing)."""
        array = self.array if pat.is_dictionary(self.array.type) else self.array.dictionary_encode()
        index = array.indices.cast(pa.int64()).fill_null(-1)
        return array.dictionary, index.to_numpy(zero_copy_only=False)


def read_column(name: str, raw: Any) -> Column:
    """The column that a narwhals Series or a one-dimensional NumPy array holds."""
    return from_objects(name, raw) if holds_objects(raw) else from_typed(name, raw)


def holds_objects(raw: Any) -> bool:
    """Whether the column's type says nothing about its cells. (narwhals would look at the first hundred.)"""
    native = raw if isinstance(raw, np.ndarray) else raw.to_native()
    return isinstance(raw.dtype, nw.Object) or getattr(native, "dtype", None) == np.dtype(object)


def from_typed(name: str, raw: Any) -> Column:
    """A column whose type is declared."""
    try:
        array = pa.array(raw, from_pandas=True) if isinstance(raw, np.ndarray) else raw.to_arrow()
    except (pa.ArrowException, TypeError):  # no arrow type for it (128-bit integers, sparse columns): one by one
        return from_objects(name, raw)
    held = array.type.value_type if pat.is_dictionary(array.type) else array.type
    if isinstance(held, DeclaredTexts):
        return Column(name, flat(array.cast(held.storage_type)), COLUMN_TYPES[held.column_type])
    if isinstance(held, pa.BaseExtensionType) or pat.is_interval(held) or is_bytes(held):
        return from_objects(name, raw)
    if pat.is_nested(held):
        raise nested_error(name, held)
    array = flat(array)
    return Column(name, array, arrow_column_type(array.type))


def is_bytes(arrow_type: pa.DataType) -> bool:
    tests = (pat.is_binary, pat.is_large_binary, pat.is_fixed_size_binary, pat.is_binary_view)
    return any(fits(arrow_type) for fits in tests)


def plain(array: Any) -> Any:
    return next((convert(array) for fits, convert in PLAIN if fits(array.type)), array)


def flat(array: Any) -> pa.Array:
    """One array without chunks, of a plain type, with no missing value but null."""
    if pat.is_dictionary(array.type):
        return flat_dictionary(array)
    array = plain(array)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def flat_dictionary(array: Any) -> pa.DictionaryArray:
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    values = plain(array.dictionary)
    if values.null_count:  # a missing value may be an entry of the dictionary instead of a null
        return values.take(array.indices).dictionary_encode()
    return pa.DictionaryArray.from_arrays(array.indices, values)


def from_objects(name: str, raw: Any) -> Column:
    """A column of Python objects, each cell as its canonical text, in which the types of the others play no part."""
    import pandas as pd

    cells = np.fromiter(raw if isinstance(raw, np.ndarray) else raw.to_list(), dtype=object, count=len(raw))
    missing = np.asarray(pd.isna(cells))
    present = cells[~missing]
    types = set(map(type, present))
    check_types(name, types)
    cells[missing] = None
    if types != {str}:
        cells[~missing] = texts(name, present.tolist())
    try:
        array = pa.array(cells, pa.large_string())
    except UnicodeEncodeError:  # half a surrogate pair: rare, so only looked for now
        cells[~missing] = texts(name, present.tolist())
        array = pa.array(cells, pa.large_string())
    return Column(name, array, object_column_type(types))


def check_types(name: str, types: set[type]) -> None:
    if any(issubclass(cls, NESTED) for cls in types):
        raise nested_error(name, " or ".join(sorted(cls.__name__ for cls in types)))
    if any(issubclass(cls, (complex, np.complexfloating)) for cls in types):
        raise ColumnTypeError(
            f"Complex data not supported: column {name!r} holds complex numbers. "
            "Give their real and imaginary parts as two columns."
        )


def texts(name: str, values: list[Any]) -> list[str]:
    """Canonical texts. Python works once per distinct value; True, 1 and 1.0 are equal, hence the types."""
    pairs = list(zip(map(type, values), values, strict=True))
    try:
        known = {pair: cell_text(pair[1]) for pair in dict.fromkeys(pairs)}
    except (TypeError, ValueError) as error:
        raise ColumnTypeError(f"column {name!r} holds values that cannot be read as text: {error}.") from error
    return list(map(known.__getitem__, pairs))


def nested_error(name: str, found: object) -> ColumnTypeError:
    return ColumnTypeError(
        f"column {name!r} holds nested values ({found}); a table cell must be a single value. Sequences belong to "
        f'SequenceDetector; otherwise spread the column out, or leave it out: columns={{{name!r}: "drop"}}.'
    )
