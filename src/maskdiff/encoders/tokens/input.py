"""Whatever holds one text or one list of symbols per row, as plain Python values.

Lists, NumPy arrays, pandas, polars and pyarrow columns are read as they are; of a table, the column that was named, or
its only one.
"""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.encoders.table.input import describe, listed
from maskdiff.errors import InputError, UnknownColumnError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class TokenRows:
    """One value per row, not yet cut into tokens; `rows` are their numbers in messages, `named` whether a table was
    handed in, whose columns have names."""

    values: list[Any]
    rows: NDArray[np.int64]
    named: bool = False

    @property
    def n_rows(self) -> int:
        return len(self.values)

    def take(self, rows: ArrayLike) -> TokenRows:
        """Only these: positions, or one boolean per row."""
        chosen = np.arange(self.n_rows)[np.asarray(rows)]
        return TokenRows([self.values[i] for i in chosen], self.rows[chosen], self.named)


def joined(parts: Iterable[TokenRows]) -> TokenRows:
    """The rows of all parts, in order."""
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    values = [value for part in parts for value in part.values]
    return TokenRows(values, np.arange(len(values)), all(part.named for part in parts))


def read_rows(X: Any, column: str | None, *, holds: str) -> TokenRows:
    """The rows of X; `holds` is what each of them should hold, for messages."""
    if isinstance(X, TokenRows):
        return X
    if isinstance(X, str | bytes | Mapping):
        raise InputError(f"expected a list or column with {holds} per row; got one {type(X).__name__}.")
    values, named = _values(X, column, holds)
    return TokenRows(values, np.arange(len(values)), named)


def _values(X: Any, column: str | None, holds: str) -> tuple[list[Any], bool]:
    if isinstance(X, Sequence):
        return list(X), False
    if isinstance(X, np.ndarray):
        return _array_values(X, holds), False
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return X.to_pylist(), False
    try:
        frame = nw.from_native(X, eager_only=True, allow_series=True)
    except TypeError:
        raise InputError(f"expected a list or column with {holds} per row; got {describe(X)}.") from None
    if isinstance(frame, nw.Series):
        return frame.to_list(), False
    return frame.get_column(_chosen(list(frame.columns), column, holds)).to_list(), True


def _array_values(X: NDArray[Any], holds: str) -> list[Any]:
    if X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if X.ndim not in (1, 2):
        raise InputError(f"expected {holds} per row; got an array of shape {X.shape}.")
    return list(X.tolist())


def _chosen(columns: list[str], column: str | None, holds: str) -> str:
    if column is None and len(columns) == 1:
        return columns[0]
    if column is None:
        raise UnknownColumnError(
            f"the table has the columns {listed(columns)}; say which one holds {holds} per row with column=NAME."
        )
    if column not in columns:
        raise UnknownColumnError(f"the table has no column {column!r}; it has {listed(columns)}.")
    return column


# One row ---------------------------------------------------------------------------------------------------------


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def as_text(value: Any, row: int) -> str:
    """A row as a text of the same length: nothing for a missing one, numbers as they are written.

    Half of a surrogate pair is no character; it becomes U+FFFD, one for one, so that spans stay where they are.

    >>> as_text("caf\\u00e9 \\ud83d", row=0), as_text(12, row=1), as_text(None, row=2)
    ('café \ufffd', '12', '')
    """
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if is_missing(value):
        return ""
    if isinstance(value, numbers.Number | np.generic):
        return str(value)
    raise InputError(
        f"row {row} is no text but of type {type(value).__name__}: {str(value)[:40]!r}. Turn it into a string first, "
        "or use SequenceDetector for lists of symbols.",
        setting="sequence",
    )
