"""What encoders of symbols and of texts share: one alphabet for all positions, learned from normal rows."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from maskdiff.codes import Codes, Field, FloatArray, IntArray, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.codes.windows import check_window, cut_rows
from maskdiff.encoders.base import Extension, UnseenValue
from maskdiff.encoders.tokens.input import TokenRows, read_rows
from maskdiff.encoders.tokens.symbols import symbol_from_state, symbol_to_state
from maskdiff.encoders.tokens.tokenized import TokenizedRows, TokenWindows
from maskdiff.errors import EmptyTableError, ModelFileError, SettingError
from maskdiff.state import check, fits


class TokenEncoder:
    """Encodes rows of tokens; a subclass says how a row is cut into tokens and how a token is written.

    Learned: `schema_` (one field, the alphabet), `symbols_` (one token per code), `feature_names_in_`, `named_`.
    """

    column: str | None
    max_length: int
    overlap: int

    # What a row is made of, and the columns of an explanation that say where such a part is.
    parts: str
    places: tuple[str, ...]

    _row_holds: str
    _default_name: str
    _settings: ClassVar[dict[str, Any]]  # those that are stored, and their types

    schema_: Schema
    symbols_: list[Hashable]
    named_: bool

    # Defined by each subclass ----------------------------------------------------------------------------------------

    def _cut(self, rows: TokenRows) -> TokenizedRows:
        """The rows, cut into tokens."""
        raise SettingError(f"{type(self).__name__} does not say how to cut rows into tokens: define _cut(rows).")

    def _prepare(self, rows: TokenRows) -> None:
        """Learn what is needed before rows can be cut into tokens."""

    def _restore(self, state: dict[str, Any]) -> None:
        """Take from a state what `_prepare` learned."""

    def _label(self, symbol: Hashable) -> str:
        return str(symbol)

    def _alphabet(self, seen: Counter[Hashable]) -> dict[Hashable, int]:
        """The tokens that get a code, in order, and how often each counts."""
        return {symbol: seen[symbol] for symbol in self._in_order(seen)}

    @staticmethod
    def _in_order(seen: Counter[Hashable]) -> list[Hashable]:
        """The most frequent first, in an order that does not depend on the order of the rows."""
        return sorted(seen, key=lambda symbol: (-seen[symbol], type(symbol).__name__, str(symbol)))

    # Learning --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the alphabet from normal rows; `y` is ignored."""
        self._learn(X)
        return self

    def fit_encode(self, X: Any) -> TokenWindows:
        """Learn the alphabet from normal rows; their codes, cut into tokens only once."""
        return self.encode(self._learn(X))

    def _learn(self, X: Any) -> TokenizedRows:
        check_window(self.max_length, self.overlap)
        rows = read_rows(X, self.column, holds=self._row_holds)
        if not rows.n_rows:
            raise EmptyTableError("there are no rows to learn from.")
        self._prepare(rows)
        tokens = self._cut(rows)
        seen = Counter(tokens.symbols.tolist())
        if not seen:
            raise EmptyTableError(f"none of the {rows.n_rows} rows holds a single token: there is nothing to learn.")
        counts = self._alphabet(seen)
        singletons = sum(count == 1 for count in counts.values())
        self._adopt(list(counts), list(counts.values()), singletons, rows.named)
        return tokens

    def extended(self, X: Any) -> tuple[Self, Extension]:
        """A copy that learned from these normal rows too, and what it learned: tokens it had not seen get codes.

        >>> from maskdiff.encoders.tokens.sequence import SequenceEncoder
        >>> encoder, extension = SequenceEncoder().fit([["open", "close"]]).extended([["open", "move"]])
        >>> encoder.schema_.fields[0].labels, encoder.schema_.fields[0].counts, extension.new_values
        (('close', 'open', 'move'), (1, 2, 1), {'sequence': ('move',)})
        """
        seen = Counter(self.tokenize(X).symbols.tolist())
        new = [symbol for symbol in self._in_order(seen) if symbol not in self._code]
        before = self.schema_.fields[0]
        known = [count + seen[symbol] for symbol, count in zip(self.symbols_, before.counts, strict=True)]
        counts = [*known, *(seen[symbol] for symbol in new)]
        # A token that had been seen once, and is seen again, is none of those any more.
        again = sum(count == 1 and seen[s] > 0 for s, count in zip(self.symbols_, before.counts, strict=True))
        singletons = before.singletons - again + sum(seen[symbol] == 1 for symbol in new)
        wider = copy.copy(self)
        wider._adopt([*self.symbols_, *new], counts, max(0, singletons), self.named_)
        places = np.append(np.arange(before.size), len(counts))
        labels = {before.name: tuple(map(self._label, new))} if new else {}
        return wider, Extension(SchemaChange(self.schema_, wider.schema_, (places,)), labels)

    def _adopt(self, symbols: list[Hashable], counts: list[int], singletons: int, named: bool) -> None:
        name = self.column or self._default_name
        labels = tuple(map(self._label, symbols))
        self.symbols_ = symbols
        self.schema_ = Schema((Field(name, "token", labels, tuple(counts), singletons),))
        self.feature_names_in_ = np.array([name], dtype=object)
        self.named_ = named
        self._code = {symbol: code for code, symbol in enumerate(symbols)}

    # Reading ---------------------------------------------------------------------------------------------------------

    def read(self, X: Any) -> TokenRows | TokenizedRows:
        """The rows of X, not yet cut into tokens unless they were handed in that way."""
        return X if isinstance(X, TokenizedRows) else read_rows(X, self.column, holds=self._row_holds)

    def tokenize(self, X: Any) -> TokenizedRows:
        """The rows of X with their tokens; whatever takes rows also takes these, and does not cut them again."""
        rows = self.read(X)
        return rows if isinstance(rows, TokenizedRows) else self._cut(rows)

    def encode(self, X: Any) -> TokenWindows:
        """The codes of any rows, in windows of at most `max_length` tokens."""
        tokens = self.tokenize(X)
        found = map(self._code.get, tokens.symbols.tolist(), repeat(len(self.symbols_)))
        codes = np.fromiter(found, np.int64, len(tokens.symbols))
        window = {"max_length": self.max_length, "overlap": self.overlap}
        return TokenWindows.of(cut_rows(codes, tokens.lengths, self.schema_, **window), tokens)

    def unseen_values(self, X: Any, codes: Codes) -> list[UnseenValue]:
        """The tokens that have the code *unseen*, row after row; `codes` are those of X."""
        tokens = self.tokenize(X)
        return [(symbol,) for symbol in tokens.symbols.tolist() if symbol not in self._code]

    def codes_of(self, fields: IntArray, values: Sequence[UnseenValue]) -> tuple[IntArray, FloatArray]:
        """The codes of these tokens; nothing can be beyond the range of an alphabet."""
        unseen = len(self.symbols_)
        codes = [self._code.get(value[0], unseen) if value else unseen for value in values]
        return np.array(codes, dtype=np.int64), np.zeros(len(codes))

    def display(self, X: Any, rows: ArrayLike, positions: ArrayLike) -> list[str]:
        """The tokens at these places as a person reads them, one for each pair of a row and a position."""
        needed, row = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        tokens = self.tokenize(self.read(X).take(needed))
        return tokens.slices(row, tokens.spans[tokens.first[row] + np.asarray(positions, dtype=np.int64)])

    def summary(self) -> list[dict[str, Any]]:
        """How the column was read, as for tables; how many rows were empty is not kept."""
        known = {"type": self.parts, "codes": self.schema_.fields[0].size, "missing": None, "left_out": None}
        return [{"name": name} | known for name in self.schema_.names]

    # State -----------------------------------------------------------------------------------------------------------

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
            settings = state["settings"]
            for name, hint in cls._settings.items():
                check(fits(settings[name], hint), f"its setting {name} is {settings[name]!r}"[:100])
            encoder = cls(**settings)
            check_window(encoder.max_length, encoder.overlap)
            encoder._restore(state)
            symbols = [symbol_from_state(symbol) for symbol in state["symbols"]]
            counts = [int(count) for count in state["counts"]]
            encoder._adopt(symbols, counts, int(state["singletons"]), bool(state["named"]))
        except ModelFileError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(
                f"the model file describes its tokens in a way that cannot be read: {error!r}."
            ) from error
        if not symbols or len(symbols) != len(counts) or min(counts) < 1 or len(encoder._code) != len(symbols):
            raise ModelFileError("the model file is damaged: its alphabet does not match its counts.")
        return encoder
