"""Symbols: what may be one, how a row of them is read, and how a model file holds them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from maskdiff.encoders.tokens.input import is_missing
from maskdiff.encoders.tokens.smiles import smiles_symbols
from maskdiff.errors import InputError, SettingError

# Name -> how to split a string of a notation of its own.
SPLITTERS: dict[str, Callable[[str], list[str]]] = {"smiles": smiles_symbols}


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
    return [_symbol(symbol, row, position) for position, symbol in enumerate(value)]


def split(text: str, row: int, separator: str | None) -> list[Hashable]:
    """A string as symbols. Without a separator it can only be a JSON list, as a CSV file holds lists.

    >>> split('["open file", 3]', 0, None), split("a;b", 0, ";"), split("CCl", 0, "smiles")
    (['open file', 3], ['a', 'b'], ['C', 'Cl'])
    """
    if separator is None:
        values = _json_list(text)
        if values is not None:
            return as_symbols(values, row, None)
        raise InputError(
            f"row {row} is a plain string, {text[:40]!r}, where a list of symbols is expected. Say how to split it: "
            'separator=" " at blanks, separator="" into characters, separator="smiles" into atoms and bonds; or use '
            "TextDetector for texts.",
            setting="separator",
        )
    if separator in SPLITTERS:
        return list(SPLITTERS[separator](text))
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


def _symbol(symbol: Any, row: int, position: int) -> Hashable:
    if is_missing(symbol):
        return None
    if isinstance(symbol, np.generic):
        symbol = symbol.item()
    try:
        hash(symbol)
    except TypeError:
        raise InputError(
            f"row {row} holds at position {position} a {type(symbol).__name__}, which cannot be a symbol: symbols are "
            "looked up, so they must be hashable, as texts, numbers and tuples are."
        ) from None
    known: Hashable = symbol
    return known


def symbol_to_state(symbol: Hashable) -> Any:
    """A symbol as JSON can hold it; a tuple becomes a list."""
    if isinstance(symbol, tuple):
        return [symbol_to_state(part) for part in symbol]
    plain = type(symbol) in (str, bool, int, float, type(None))
    if not plain or (isinstance(symbol, float) and not math.isfinite(symbol)):
        raise SettingError(
            f"a detector with the symbol {symbol!r} cannot be saved: only texts, numbers, None and tuples of them can."
        )
    return symbol


def symbol_from_state(state: Any) -> Hashable:
    """The symbol that `symbol_to_state` wrote."""
    if isinstance(state, list):
        return tuple(symbol_from_state(part) for part in state)
    symbol: Hashable = state
    return symbol
