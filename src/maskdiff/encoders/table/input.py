"""Tables of any library as named columns.

pandas, polars and pyarrow come through narwhals; NumPy arrays and lists of rows are read by position, their columns
named x0, x1, ... A column is only converted when it is needed, so columns that are left out are never touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray

from maskdiff.encoders.table.columns import Column, read_column
from maskdiff.encoders.table.few_rows import MOST_ROWS, PandasColumns
from maskdiff.errors import EmptyTableError, InputError, UnknownColumnError

ACCEPTED = "a pandas or polars DataFrame, a pyarrow Table, or a two-dimensional NumPy array"


@dataclass(frozen=True, eq=False)
class Table:
    """Columns not yet converted; `named` is False where they came without names."""

    names: list[str]
    raw: Sequence[Any]
    n_rows: int
    named: bool = True
    rows: NDArray[np.int64] | None = None

    def column(self, position: int) -> Column:
        column = read_column(self.names[position], self.raw[position])
        return column if self.rows is None else replace(column, array=column.array.take(pa.array(self.rows)))

    def take(self, rows: ArrayLike | None) -> Table:
        """Only these rows: positions, or one boolean per row."""
        if rows is None:
            return self
        here = np.arange(self.n_rows) if self.rows is None else self.rows
        chosen = here[np.asarray(rows)]
        return replace(self, rows=chosen, n_rows=len(chosen))


@dataclass(frozen=True)
class Header:
    """The columns a table had at fit, and whether they had names of their own."""

    names: tuple[str, ...]
    named: bool

    @classmethod
    def of(cls, table: Table) -> Header:
        if not table.names:
            shape = f"(shape=({table.n_rows}, 0))"
            raise EmptyTableError(f"the table has no columns: 0 feature(s) {shape} while a minimum of 1 is required.")
        return cls(tuple(table.names), table.named)

    def places(self, table: Table, needed: Collection[str], ignored: Collection[str] = ()) -> dict[str, int]:
        """Where each needed column is in a table: by name, or by position where either side has no names."""
        same_names = set(table.names) == set(self.names)
        if table.named and (self.named or same_names or len(table.names) != len(self.names)):
            self._check_names(table, needed, ignored)
            place = {name: at for at, name in enumerate(table.names)}
            return {name: place[name] for name in needed}
        if len(table.names) != len(self.names):
            raise UnknownColumnError(
                f"X has {len(table.names)} features, but TableEncoder is expecting {len(self.names)} features as "
                f"input: {listed(self.names)}. Without names, all columns of fit are needed, in the same order."
            )
        wanted = set(needed)
        return {name: at for at, name in enumerate(self.names) if name in wanted}

    def _check_names(self, table: Table, needed: Collection[str], ignored: Collection[str]) -> None:
        present, known = set(table.names), {*self.names, *ignored}
        missing = [name for name in needed if name not in present]
        extra = [name for name in table.names if name not in known]
        problems = []
        if missing:
            problems.append(f"Missing: {listed(missing)}; add them, or fit again without them")
        if extra:
            way_out = f'columns={{{extra[0]!r}: "drop"}}'
            problems.append(
                f"Not seen during fit: {listed(extra)}; drop them, or fit again with {way_out} to ignore them"
            )
        if problems:
            raise UnknownColumnError(f"the columns differ from those of fit. {'. '.join(problems)}.")


def read_table(X: Any) -> Table:
    """The columns of anything table-like."""
    if isinstance(X, Table):
        return X
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if _is_small_frame(X):
        names = [str(name) for name in X.columns]
        check_names(names)
        return Table(names, PandasColumns(X), len(X))
    if isinstance(X, Sequence | np.ndarray) or (hasattr(X, "__array__") and not hasattr(type(X), "columns")):
        return read_array(X)
    try:
        columns = list(nw.from_native(X, eager_only=True).iter_columns())
    except TypeError:
        raise InputError(f"expected {ACCEPTED}; got {describe(X)}.") from None
    except DuplicateError:
        check_names(getattr(X, "column_names", None) or X.columns)
        raise
    names = [str(column.name) for column in columns]
    check_names(names)
    return Table(names, columns, len(columns[0]) if columns else 0)


def _is_small_frame(X: Any) -> bool:
    """Whether this is a DataFrame of pandas with few rows."""
    is_pandas = type(X).__name__ == "DataFrame" and type(X).__module__.partition(".")[0] == "pandas"
    return is_pandas and len(X) <= MOST_ROWS and X.columns.nlevels == 1


def read_array(X: Any) -> Table:
    """Columns of a two-dimensional array, by position."""
    # Rows given as lists keep the type of each cell; NumPy alone would turn [1, "a"] into two texts.
    values = np.asarray(X, dtype=object) if isinstance(X, Sequence) else np.asanyarray(X)
    if values.ndim != 2:
        raise InputError(
            f"expected {ACCEPTED}; got an array of shape {values.shape}. "
            "Reshape your data: one row per record, X.reshape(1, -1) for a single record."
        )
    if isinstance(values, np.ma.MaskedArray):
        masked, values = np.ma.getmaskarray(values), np.ma.getdata(values).astype(object)
        values[masked] = None
    names = [f"x{position}" for position in range(values.shape[1])]
    return Table(names, list(values.T), len(values), named=False)


def describe(X: Any) -> str:
    remedies = {"LazyFrame": " (call .collect() first)", "sparse": " (sparse: call .toarray() first)"}
    found = f"{type(X).__module__}.{type(X).__name__}"
    return found + "".join(remedy for part, remedy in remedies.items() if part in found)


def column_of(table: Table, place: int, name: str) -> Column:
    """The column at this place, under the name it had at fit."""
    return replace(table.column(place), name=name)


def check_names(names: Iterable[Any]) -> None:
    """A column is known by its name, so no two may share one."""
    twice = [name for name, times in Counter(map(str, names)).items() if times > 1]
    if twice:
        raise UnknownColumnError(f"more than one column is named {listed(twice)}. Rename or drop one of each.")


def listed(names: Iterable[Any]) -> str:
    return ", ".join(repr(str(name)) for name in names)
