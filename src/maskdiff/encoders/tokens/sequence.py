"""Lists of symbols become codes: one alphabet for all positions, learned from normal rows, and *unseen*."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.codes import Field, Schema
from maskdiff.codes.windows import Windows, check_window, cut_rows
from maskdiff.encoders.tokens.input import TokenRows, as_symbols, read_items
from maskdiff.errors import EmptyTableError, ModelFileError, SettingError

Span = tuple[int, int]


class TokenEncoder:
    """What encoders of symbols and of text share; a kind of token says how rows are read and tokens written.

    Learned: `schema_` (one field, the alphabet), `symbols_` (one token per code), `feature_names_in_`, `named_`.
    """

    column: str | None
    max_length: int
    overlap: int

    parts: str  # what a row is made of, and the columns of an explanation that say where such a part stands
    places: tuple[str, ...]

    _what: str
    _default_name: str
    _settings: tuple[str, ...]

    schema_: Schema
    symbols_: list[Hashable]
    named_: bool

    # Told by each kind -----------------------------------------------------------------------------------------------

    def tokens(self, X: Any) -> list[list[Hashable]]:
        """The tokens of every row."""
        raise SettingError(f"{type(self).__name__} does not say how to read its rows: define tokens(X).")

    def display(self, X: Any, rows: ArrayLike, positions: ArrayLike) -> list[str]:
        """The tokens at these places as a person reads them, one for each pair of a row and a position."""
        raise SettingError(f"{type(self).__name__} does not say how tokens are shown: define display().")

    def written(self, X: Any) -> list[str]:
        """Every row as a person reads it."""
        raise SettingError(f"{type(self).__name__} does not say how rows are shown: define written(X).")

    def spans(self, X: Any) -> list[list[Span]]:
        """Which characters of `written` each token stands for, from start to end (excluded)."""
        raise SettingError(f"{type(self).__name__} does not say where tokens stand: define spans(X).")

    def _prepare(self, items: TokenRows) -> None:
        """Learn what is needed before rows can be read at all."""

    def _label(self, symbol: Hashable) -> str:
        return str(symbol)

    def _alphabet(self, seen: Counter[Hashable]) -> dict[Hashable, int]:
        """The tokens that get a code, in order, and how often each counts."""
        # In an order that does not depend on the order of the rows.
        order = sorted(seen, key=lambda symbol: (-seen[symbol], type(symbol).__name__, str(symbol)))
        return {symbol: seen[symbol] for symbol in order}

    # Learning --------------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> TokenRows:
        """The rows of X, not yet cut into tokens."""
        return read_items(X, self.column, what=self._what)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the alphabet from normal rows; `y` is ignored."""
        check_window(self.max_length, self.overlap)
        items = self.read(X)
        if not items.n_rows:
            raise EmptyTableError("there are no rows to learn from: 0 sample(s) while a minimum of 1 is required.")
        self._prepare(items)
        seen = Counter(token for row in self.tokens(items) for token in row)
        if not seen:
            raise EmptyTableError(f"none of the {items.n_rows} rows holds a single token: there is nothing to learn.")
        counts = self._alphabet(seen)
        singletons = sum(count == 1 for count in counts.values())
        return self._adopt(list(counts), list(counts.values()), singletons, items.named)

    def _adopt(self, symbols: list[Hashable], counts: list[int], singletons: int, named: bool) -> Self:
        name = self.column or self._default_name
        labels = tuple(map(self._label, symbols))
        self.symbols_ = symbols
        self.schema_ = Schema((Field(name, "token", labels, tuple(counts), singletons),))
        self.feature_names_in_ = np.array([name], dtype=object)
        self.named_ = named
        self._code = {symbol: code for code, symbol in enumerate(symbols)}
        return self

    # Reading ---------------------------------------------------------------------------------------------------------

    def encode(self, X: Any) -> Windows:
        """The codes of any rows, in windows of at most `max_length` tokens."""
        return self.windows(self.tokens(X))

    def windows(self, tokens: Sequence[Sequence[Hashable]]) -> Windows:
        unseen = len(self.symbols_)
        rows: list[NDArray[np.int64]] = [
            np.fromiter((self._code.get(token, unseen) for token in row), np.int64, len(row)) for row in tokens
        ]
        return cut_rows(rows, self.schema_, max_length=self.max_length, overlap=self.overlap)

    def summary(self) -> list[dict[str, Any]]:
        """How the column was read, as for tables; how many rows were empty is not kept.

        >>> SequenceEncoder(" ").fit(["open read", "open close"]).summary()
        [{'name': 'sequence', 'type': 'symbols', 'codes': 3, 'missing': None, 'left_out': None}]
        """
        told = {"type": self.parts, "codes": self.schema_.fields[0].size, "missing": None, "left_out": None}
        return [{"name": name} | told for name in self.schema_.names]

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Everything that was set and learned, as plain texts, numbers, lists and dicts."""
        alphabet = self.schema_.fields[0]
        return {
            "settings": {name: getattr(self, name) for name in self._settings},
            "named": self.named_,
            "symbols": [symbol_to_state(symbol) for symbol in self.symbols_],
            "counts": list(alphabet.counts),
            "singletons": alphabet.singletons,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The encoder that `to_state` described; a state that does not hang together is refused."""
        try:
            encoder = cls(**state["settings"])
            encoder._restore(state)
            symbols = [symbol_from_state(symbol) for symbol in state["symbols"]]
            counts = [int(count) for count in state["counts"]]
            encoder._adopt(symbols, counts, int(state["singletons"]), bool(state["named"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFileError(
                f"the model file describes its tokens in a way that cannot be read: {error!r}."
            ) from error
        if not symbols or len(symbols) != len(counts) or min(counts) < 1 or len(encoder._code) != len(symbols):
            raise ModelFileError("the model file is damaged: its alphabet does not match its counts.")
        return encoder

    def _restore(self, state: dict[str, Any]) -> None:
        """Take up again what `_prepare` learned."""


class SequenceEncoder(TokenEncoder):
    """Encodes rows that are lists of symbols: event names, amino acids, anything that can be looked up.

    Parameters
    ----------
    separator : how to split a row that is a string: at " " (or another separator), into characters with "". None:
        strings are refused, since a plain string among lists is nearly always a mistake.
    column : the column to read where rows come as a table.
    max_length, overlap : rows with more symbols are encoded as windows of `max_length` that share `overlap` symbols.

    >>> encoder = SequenceEncoder().fit([["open", "read", "close"], ["open", "close"]])
    >>> encoder.schema_.fields[0].labels
    ('close', 'open', 'read')
    >>> encoder.encode([["open", "write", "close"]]).values
    array([[1, 3, 0]], dtype=uint8)
    """

    parts, places = "symbols", ("position",)

    _what = "one list of symbols"
    _default_name = "sequence"
    _settings = ("separator", "column", "max_length", "overlap")

    def __init__(
        self, separator: str | None = None, column: str | None = None, max_length: int = 256, overlap: int = 64
    ) -> None:
        self.separator = separator
        self.column = column
        self.max_length = max_length
        self.overlap = overlap

    def tokens(self, X: Any) -> list[list[Hashable]]:
        items = self.read(X)
        if self.separator is not None and not isinstance(self.separator, str):
            raise SettingError(f"separator must be a string or None; got {self.separator!r}.")
        pairs = zip(items.values, items.rows.tolist(), strict=True)
        return [as_symbols(value, row, self.separator) for value, row in pairs]

    def display(self, X: Any, rows: ArrayLike, positions: ArrayLike) -> list[str]:
        """The symbols at these places, one for each pair of a row and a position.

        >>> SequenceEncoder(" ").display(["open read", "close"], [0, 1], [1, 0])
        ['read', 'close']
        """
        items, at = self.read(X), np.asarray(rows, dtype=np.int64)
        needed = np.unique(at)
        tokens = dict(zip(needed.tolist(), self.tokens(items.take(needed)), strict=True))
        pairs = zip(at.tolist(), np.asarray(positions).tolist(), strict=True)
        return [self._label(tokens[row][position]) for row, position in pairs]

    def written(self, X: Any) -> list[str]:
        """The symbols of every row side by side; one below the other where some of them hold blanks.

        >>> SequenceEncoder("").written(["CCO"]), SequenceEncoder().written([["open file", "close"]])
        (['C C O'], ['open file\\nclose'])
        """
        return [_between(words).join(words) for words in self._words(X)]

    def spans(self, X: Any) -> list[list[Span]]:
        """Where in `written` each symbol stands.

        >>> SequenceEncoder(" ").spans(["open read"])
        [[(0, 4), (5, 9)]]
        """
        found = []
        for words in self._words(X):
            lengths = np.array([len(word) for word in words], dtype=np.int64)
            end = np.cumsum(lengths + 1) - 1
            found.append(list(zip((end - lengths).tolist(), end.tolist(), strict=True)))
        return found

    def _words(self, X: Any) -> list[list[str]]:
        return [list(map(self._label, row)) for row in self.tokens(X)]


def _between(words: Sequence[str]) -> str:
    return "\n" if any(len(word.split()) > 1 for word in words) else " "


def symbol_to_state(symbol: Hashable) -> Any:
    """A symbol as JSON can hold it; a tuple becomes a list."""
    if isinstance(symbol, tuple):
        return [symbol_to_state(part) for part in symbol]
    plain = (
        symbol is None or isinstance(symbol, str | bool | int) or (isinstance(symbol, float) and math.isfinite(symbol))
    )
    if not plain or type(symbol) not in (str, bool, int, float, type(None)):
        raise SettingError(
            f"a detector with the symbol {symbol!r} cannot be saved: only texts, numbers, None and tuples of them can."
        )
    return symbol


def symbol_from_state(state: Any) -> Hashable:
    if isinstance(state, list):
        return tuple(symbol_from_state(part) for part in state)
    symbol: Hashable = state
    return symbol
