"""Lists of symbols become codes."""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar

import numpy as np

from maskdiff.codes.windows import ranges
from maskdiff.encoders.tokens.encoder import TokenEncoder
from maskdiff.encoders.tokens.input import TokenRows
from maskdiff.encoders.tokens.symbols import as_symbols
from maskdiff.encoders.tokens.tokenized import TokenizedRows
from maskdiff.errors import SettingError


class SequenceEncoder(TokenEncoder):
    """Encodes rows that are lists of symbols: event names, amino acids, anything that can be looked up.

    Parameters
    ----------
    separator : how to split a row that is a string: at " " (or another separator), into characters with "", into the
        atoms, bonds, branches and ring numbers of a molecule with "smiles". None: strings are refused, since a plain
        string among lists is nearly always a mistake.
    column : the column to read where rows come as a table.
    max_length, overlap : rows with more symbols are encoded as windows of at most so many that share `overlap` symbols.

    A person reads the symbols of a row side by side; one below the other where some of them hold blanks.

    >>> encoder = SequenceEncoder().fit([["open", "read", "close"], ["open", "close"]])
    >>> encoder.schema_.fields[0].labels
    ('close', 'open', 'read')
    >>> encoder.encode([["open", "write", "close"]]).values
    array([[1, 3, 0]], dtype=uint8)
    >>> encoder.display([["open", "read"], ["close"]], rows=[0, 1], positions=[1, 0])
    ['read', 'close']
    >>> encoder.tokenize([["open", "read"], ["open file", "close"]]).texts.tolist()
    ['open read', 'open file\\nclose']
    """

    parts, places = "symbols", ("position",)

    _row_holds = "one list of symbols"
    _default_name = "sequence"
    _settings: ClassVar[dict[str, Any]] = {
        "separator": str | None,
        "column": str | None,
        "max_length": int,
        "overlap": int,
    }

    def __init__(
        self, separator: str | None = None, column: str | None = None, max_length: int = 256, overlap: int = 64
    ) -> None:
        self.separator = separator
        self.column = column
        self.max_length = max_length
        self.overlap = overlap

    def _cut(self, rows: TokenRows) -> TokenizedRows:
        if self.separator is not None and not isinstance(self.separator, str):
            raise SettingError(f"separator must be a string or None; got {self.separator!r}.")
        numbered = zip(rows.values, rows.rows.tolist(), strict=True)
        symbols = [as_symbols(value, row, self.separator) for value, row in numbered]
        labels = [list(map(self._label, row)) for row in symbols]
        lengths = np.array([len(row) for row in symbols], dtype=np.int64)
        n = int(lengths.sum())
        size = np.fromiter(map(len, chain.from_iterable(labels)), np.int64, n)
        # There is one character between two symbols.
        first = np.cumsum(lengths) - lengths
        end = np.cumsum(size + 1) - 1
        end -= np.repeat(np.append(0, end + 1)[first], lengths)
        return TokenizedRows(
            texts=np.array([_separator(row).join(row) for row in labels], dtype=object),
            lengths=lengths,
            symbols=np.fromiter(chain.from_iterable(symbols), object, n),
            offsets=np.column_stack([end - size, end]),
            word=ranges(np.zeros_like(lengths), lengths),
        )


def _separator(labels: list[str]) -> str:
    return "\n" if any(len(label.split()) > 1 for label in labels) else " "
