"""Whatever holds one text or one list of symbols per row, as plain Python values.

Lists, NumPy arrays, pandas, polars and pyarrow columns are taken as they are; of a table the column is taken that was
named, or its only one.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.encoders.table.input import describe, listed
from maskdiff.errors import InputError, UnknownColumnError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False)
class TokenRows:
    """One value per row; `rows` are their places in what was handed in, for messages."""

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
    told = list(parts)
    if len(told) == 1:
        return told[0]
    values = [value for part in told for value in part.values]
    return TokenRows(values, np.arange(len(values)), all(part.named for part in told))


def read_items(X: Any, column: str | None, *, what: str) -> TokenRows:
    """The rows of X; `what` says in messages what a row should be."""
    if isinstance(X, TokenRows):
        return X
    if isinstance(X, str | bytes | Mapping):
        raise InputError(f"expected a list or column with {what} per row; got one {type(X).__name__}.")
    values, named = _values(X, column, what)
    return TokenRows(values, np.arange(len(values)), named)


def _values(X: Any, column: str | None, what: str) -> tuple[list[Any], bool]:
    if isinstance(X, Sequence):
        return list(X), False
    if isinstance(X, np.ndarray):
        return _array_values(X, what), False
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if isinstance(X, pa.Array | pa.ChunkedArray):
        return X.to_pylist(), False
    try:
        frame = nw.from_native(X, eager_only=True, allow_series=True)
    except TypeError:
        raise InputError(f"expected a list or column with {what} per row; got {describe(X)}.") from None
    if isinstance(frame, nw.Series):
        return frame.to_list(), False
    return frame.get_column(_chosen(list(frame.columns), column, what)).to_list(), True


def _array_values(X: NDArray[Any], what: str) -> list[Any]:
    if X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if X.ndim not in (1, 2):
        raise InputError(f"expected {what} per row; got an array of shape {X.shape}.")
    return list(X.tolist())


def _chosen(columns: list[str], column: str | None, what: str) -> str:
    if column is None and len(columns) == 1:
        return columns[0]
    if column is None:
        raise UnknownColumnError(
            f"the table has the columns {listed(columns)}; say which one holds {what} per row with column=NAME."
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


def as_symbols(value: Any, row: int, separator: str | None) -> list[Hashable]:
    """A row as a list of symbols: none for a missing one; a string is split by `separator`.

    >>> as_symbols("open read  close", 0, " "), as_symbols("CCO", 1, ""), as_symbols([3, None], 2, None)
    (['open', 'read', 'close'], ['C', 'C', 'O'], [3, None])
    """
    if isinstance(value, str):
        return split(value, row, separator)
    if is_missing(value):
        return []
    if isinstance(value, bytes | Mapping | set | frozenset) or not isinstance(value, Iterable):
        raise InputError(f"row {row} is no list of symbols but of type {type(value).__name__}: {str(value)[:40]!r}.")
    return [_symbol(symbol, row, at) for at, symbol in enumerate(value)]


def split(text: str, row: int, separator: str | None) -> list[Hashable]:
    """A string as symbols. Without a separator it can only be a JSON list, as a CSV file holds lists.

    >>> split('["open file", 3]', 0, None), split("a;b", 0, ";")
    (['open file', 3], ['a', 'b'])
    """
    if separator is None:
        listed = _json_list(text)
        if listed is not None:
            return as_symbols(listed, row, None)
        raise InputError(
            f"row {row} is a plain string, {text[:40]!r}, where a list of symbols is expected. Say how to split it: "
            'separator=" " at blanks, separator="" into characters; or use TextDetector.',
            setting="separator",
        )
    if separator == "":
        return list(text)
    pieces = text.split(separator) if text else []
    return [piece for piece in pieces if piece] if separator.isspace() else list(pieces)


def _json_list(text: str) -> list[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _symbol(symbol: Any, row: int, at: int) -> Hashable:
    if is_missing(symbol):
        return None
    if isinstance(symbol, np.generic):
        symbol = symbol.item()
    try:
        hash(symbol)
    except TypeError:
        raise InputError(
            f"row {row} holds at position {at} a {type(symbol).__name__}, which cannot be a symbol: symbols are "
            "looked up, so they must be hashable, as texts, numbers and tuples are."
        ) from None
    known: Hashable = symbol
    return known
