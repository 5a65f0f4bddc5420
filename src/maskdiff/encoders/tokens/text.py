"""Strings become codes: a tokenizer cuts them into tokens, and the tokens of normal texts are the alphabet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maskdiff.codes import BoolArray, IntArray
from maskdiff.codes.windows import Windows
from maskdiff.encoders.tokens.input import TokenRows, as_text
from maskdiff.encoders.tokens.sequence import Span, TokenEncoder
from maskdiff.encoders.tokens.tokenizers import INSIDE, make_tokenizer, ordinary_ids, unrestricted
from maskdiff.errors import ModelFileError, SettingError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, eq=False, kw_only=True)
class TextWindows(Windows):
    """Windows of texts, with each line's whole text (L,) and where in it every cell begins (L, F)."""

    texts: NDArray[np.object_]
    begin: NDArray[np.int64]

    def take(self, rows: IntArray | slice | Sequence[int] | BoolArray) -> TextWindows:
        """These lines, in this order."""
        lines = super().take(rows)
        assert isinstance(lines, TextWindows)
        return replace(lines, texts=self.texts[rows], begin=self.begin[rows])

    @classmethod
    def of(
        cls, windows: Windows, texts: Sequence[str], begins: NDArray[np.int64], first: NDArray[np.int64]
    ) -> TextWindows:
        """These windows with their texts; `begins` has all texts' tokens in a row, each text's from `first` on."""
        assert windows.real is not None
        begin = np.zeros(windows.values.shape, dtype=np.int64)
        line, cell = np.nonzero(windows.real)
        begin[line, cell] = begins[first[windows.row[line]] + windows.start[line] + cell]
        of_line = np.array([*texts, ""], dtype=object)[:-1][windows.row]
        return cls(**{f.name: getattr(windows, f.name) for f in fields(windows)}, texts=of_line, begin=begin)


class TextEncoder(TokenEncoder):
    """Encodes texts of any length.

    Parameters
    ----------
    tokenizer : "bpe" (trained on the normal texts), "gpt2" (extra `maskdiff[gpt2]`), or a tokenizer.json file.
    vocab_size : how many tokens "bpe" may learn; others ignore it.
    whole_vocabulary : whether tokens the normal texts did not hold have codes too. A model that was trained elsewhere
        knows them; one that only saw the normal texts does not, so they are *unseen* by default.
    column : the column to read where texts come as a table.
    max_length, overlap : texts with more tokens are encoded as windows of `max_length` that share `overlap` tokens.
    with_texts : whether codes bring their texts along (`TextWindows`), for what reads texts and not codes.

    A text without tokens (empty, blanks only, missing) is a row without cells.

    >>> encoder = TextEncoder().fit(["see you at nine", "see you at ten"] * 5)
    >>> encoder.spans(["see you"])
    [[(0, 3), (4, 7)]]
    >>> encoder.display(["see you at noon"], rows=[0, 0], positions=[0, 2])
    ['see', 'at']
    """

    parts, places = "tokens", ("start", "end")

    _what = "one text"
    _default_name = "text"
    _settings = ("vocab_size", "whole_vocabulary", "column", "max_length", "overlap", "with_texts")

    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | Tokenizer = "bpe",
        vocab_size: int = 50_000,
        whole_vocabulary: bool = False,
        column: str | None = None,
        max_length: int = 256,
        overlap: int = 64,
        with_texts: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.whole_vocabulary = whole_vocabulary
        self.column = column
        self.max_length = max_length
        self.overlap = overlap
        self.with_texts = with_texts

    # Learning --------------------------------------------------------------------------------------------------------

    def _prepare(self, items: TokenRows) -> None:
        check_vocab_size(self.vocab_size)
        self.tokenizer_ = make_tokenizer(self.tokenizer, self.texts(items), self.vocab_size)

    def _alphabet(self, seen: Counter[Hashable]) -> dict[Hashable, int]:
        if not self.whole_vocabulary:
            return super()._alphabet(seen)
        # One more than was seen: a token of the vocabulary is rare, never impossible.
        return {token: seen[token] + 1 for token in ordinary_ids(self.tokenizer_)}

    def _label(self, symbol: Hashable) -> str:
        token = int(str(symbol))
        text = self.tokenizer_.decode([token], skip_special_tokens=False)
        if not text or "\ufffd" in text:  # a piece of a character
            text = self.tokenizer_.id_to_token(token) or ""
        shown = text.strip() or repr(text)[1:-1]
        return shown.removeprefix(INSIDE) or shown

    # Reading ---------------------------------------------------------------------------------------------------------

    def texts(self, X: Any) -> list[str]:
        """Every row as the text that is tokenized; character by character as long as the one handed in."""
        return [text if text.strip() else "" for text in self.written(X)]

    def written(self, X: Any) -> list[str]:
        """Every row as it stands, blanks and all."""
        items = self.read(X)
        return [as_text(value, row) for value, row in zip(items.values, items.rows.tolist(), strict=True)]

    def tokens(self, X: Any) -> list[list[Hashable]]:
        encodings = self.tokenizer_.encode_batch_fast(self.texts(X), add_special_tokens=False)
        return [list(encoding.ids) for encoding in encodings]

    def encode(self, X: Any) -> Windows:
        if not self.with_texts:
            return super().encode(X)
        texts = self.texts(X)
        encodings = self.tokenizer_.encode_batch(texts, add_special_tokens=False)
        windows = self.windows([encoding.ids for encoding in encodings])
        begins = [start for encoding in encodings for start, _ in encoding.offsets]
        lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
        return TextWindows.of(windows, texts, np.array(begins, dtype=np.int64), np.cumsum(lengths) - lengths)

    def spans(self, X: Any) -> list[list[Span]]:
        """Which characters of its text each token stands for, from start to end (excluded); blanks at its rim left out.

        A character that takes several tokens has several equal spans.
        """
        texts = self.texts(X)
        encodings = self.tokenizer_.encode_batch(texts, add_special_tokens=False)
        return [
            [_without_blanks(text, start, end) for start, end in encoding.offsets]
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    def words(self, X: Any) -> list[NDArray[np.int64]]:
        """The number of the word each token is a piece of, counted from the beginning of its text."""
        encodings = self.tokenizer_.encode_batch(self.texts(X), add_special_tokens=False)
        return [np.array([-1 if w is None else w for w in one.word_ids], dtype=np.int64) for one in encodings]

    def display(self, X: Any, rows: ArrayLike, positions: ArrayLike) -> list[str]:
        """The characters these tokens stand for, one for each pair of a row and a position."""
        items, at = self.read(X), np.asarray(rows, dtype=np.int64)
        needed = np.unique(at)
        chosen = items.take(needed)
        known = dict(zip(needed.tolist(), zip(self.texts(chosen), self.spans(chosen), strict=True), strict=True))
        shown = []
        for row, position in zip(at.tolist(), np.asarray(positions).tolist(), strict=True):
            text, spans = known[row]
            start, end = spans[position]
            shown.append(text[start:end])
        return shown

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        return super().to_state() | {"tokenizer": self.tokenizer_.to_str()}

    def _restore(self, state: dict[str, Any]) -> None:
        from tokenizers import Tokenizer

        try:
            self.tokenizer_ = unrestricted(Tokenizer.from_str(state["tokenizer"]))
        except Exception as error:  # the library raises bare Exception
            raise ModelFileError(f"the model file's tokenizer cannot be read ({error}).") from error
        self.tokenizer = self.tokenizer_


def check_vocab_size(size: Any) -> None:
    if not isinstance(size, int) or size < 2:
        raise SettingError(f"vocab_size must be an integer of at least 2; got {size!r}.")


def _without_blanks(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    if not piece.strip():
        return start, end
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
