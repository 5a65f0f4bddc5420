"""Texts and lists of symbols to codes, in windows. N rows, T tokens of all rows together, L windows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
Cut = Callable[[Any], list[Any]]

# Windows are this much wider than needed at most.
_WIDTH_STEP = 8


@dataclass(frozen=True)
class Window:
    """A part of a row: its codes, of which those from `first` to `last` count here."""

    row: int
    codes: np.ndarray
    first: int
    last: int


class Alphabet:
    """How rows are cut into tokens, and what their codes are."""

    def __init__(self, described: Mapping[str, Any], folder: Path) -> None:
        self.code_of = {_symbol(symbol): code for code, symbol in enumerate(described["symbols"])}
        self.max_length, self.overlap = described["max_length"], described["overlap"]
        self.cut: Cut = _symbols(described["separator"]) if "separator" in described else _tokens(folder)

    def windows(self, rows: Sequence[Any]) -> Iterator[Window]:
        """The windows of all rows that hold a token."""
        unseen = len(self.code_of)
        for number, value in enumerate(rows):
            codes = np.array([self.code_of.get(symbol, unseen) for symbol in self.cut(value)], dtype=np.int64)
            yield from self._windows(number, codes)

    def _windows(self, row: int, codes: np.ndarray) -> Iterator[Window]:
        """Spread evenly; every token counts in the window where it is furthest from an edge."""
        n = len(codes)
        beyond = max(n - self.max_length, 0)
        n_windows = -(-beyond // (self.max_length - self.overlap)) + 1 if n else 0
        needed = -(-(n + (n_windows - 1) * self.overlap) // max(n_windows, 1))
        width = min(-(-needed // _WIDTH_STEP) * _WIDTH_STEP, self.max_length)
        starts = [rank * max(n - width, 0) // max(n_windows - 1, 1) for rank in range(n_windows)]
        ends = [min(start + width, n) for start in starts]
        middles = [(start + end) // 2 for start, end in zip(starts[1:], ends[:-1], strict=True)]
        bounds = [0, *middles, n]
        for start, end, first, last in zip(starts, ends, bounds[:-1], bounds[1:], strict=False):
            yield Window(row, codes[start:end], first - start, last - start)


def _symbol(described: Any) -> Any:
    return tuple(map(_symbol, described)) if isinstance(described, list) else described


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _tokens(folder: Path) -> Cut:
    """Texts by the tokenizer of the model."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.encode_special_tokens = True

    def cut(value: Any) -> list[Any]:
        text = "" if _is_missing(value) else _LONE_SURROGATE.sub("\ufffd", str(value))
        ids: list[int] = tokenizer.encode(text if text.strip() else "", add_special_tokens=False).ids
        return ids

    return cut


def _symbols(separator: str | None) -> Cut:
    """Lists of symbols, or strings that are split."""

    def cut(value: Any) -> list[Any]:
        if isinstance(value, str):
            return _split(value, separator)
        if _is_missing(value):
            return []
        plain = (symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in value)
        return [None if _is_missing(symbol) else symbol for symbol in plain]

    return cut


def _split(text: str, separator: str | None) -> list[Any]:
    if separator is None:
        raise ValueError(f"a list of symbols is expected; got the text {text[:40]!r}.")
    if separator == "":
        return list(text)
    pieces = text.split(separator) if text else []
    return [piece for piece in pieces if piece] if separator.isspace() else pieces
