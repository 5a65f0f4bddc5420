"""Strings become codes: a tokenizer cuts them into tokens, and the tokens of normal texts are the alphabet."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Hashable
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maskdiff.encoders.tokens.encoder import TokenEncoder
from maskdiff.encoders.tokens.input import TokenRows, as_text
from maskdiff.encoders.tokens.stored_tokenizer import stored_tokenizer
from maskdiff.encoders.tokens.tokenized import TokenizedRows
from maskdiff.encoders.tokens.tokenizers import INSIDE, make_tokenizer, ordinary_ids, unrestricted
from maskdiff.errors import SettingError, TruncatedWarning

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TextEncoder(TokenEncoder):
    """Encodes texts of any length.

    Parameters
    ----------
    tokenizer : "bpe" (trained on the normal texts), "gpt2" (extra `maskdiff[gpt2]`), or a tokenizer.json file.
    vocab_size : how many tokens "bpe" may learn; others ignore it.
    whole_vocabulary : whether tokens the normal texts did not hold have codes too. A model that was trained elsewhere
        knows them; one that only saw the normal texts does not, so they are *unseen* by default.
    column : the column to read where texts come as a table.
    max_length, overlap : texts with more tokens are encoded as windows of at most so many that share `overlap` tokens.
    truncate : whether texts are cut off after `max_length` tokens instead, as in the paper; a TruncatedWarning says how
        many were.

    A text without tokens (empty, blanks only, missing) is a row without cells.

    >>> encoder = TextEncoder().fit(["see you at nine", "see you at ten"] * 5)
    >>> encoder.tokenize(["see you"]).spans
    array([[0, 3],
           [4, 7]])
    >>> encoder.display(["see you at noon"], rows=[0, 0], positions=[0, 2])
    ['see', 'at']
    """

    parts, places = "tokens", ("start", "end")

    _row_holds = "one text"
    _default_name = "text"
    _settings: ClassVar[dict[str, Any]] = {
        "vocab_size": int,
        "whole_vocabulary": bool,
        "column": str | None,
        "max_length": int,
        "overlap": int,
        "truncate": bool,
    }

    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | Tokenizer = "bpe",
        vocab_size: int = 50_000,
        whole_vocabulary: bool = False,
        column: str | None = None,
        max_length: int = 256,
        overlap: int = 64,
        truncate: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.whole_vocabulary = whole_vocabulary
        self.column = column
        self.max_length = max_length
        self.overlap = overlap
        self.truncate = truncate

    # Learning --------------------------------------------------------------------------------------------------------

    def _prepare(self, rows: TokenRows) -> None:
        check_vocab_size(self.vocab_size)
        self.tokenizer_ = make_tokenizer(self.tokenizer, _tokenizable(_texts(rows)), self.vocab_size)

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

    def _cut(self, rows: TokenRows) -> TokenizedRows:
        texts = _texts(rows)
        encodings = self.tokenizer_.encode_batch(_tokenizable(texts), add_special_tokens=False)
        lengths = np.array([len(encoding) for encoding in encodings], dtype=np.int64)
        n = int(lengths.sum())
        offsets = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
        words = chain.from_iterable(encoding.word_ids for encoding in encodings)
        tokens = TokenizedRows(
            texts=np.array(texts, dtype=object),
            lengths=lengths,
            symbols=np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), np.int64, n),
            offsets=np.fromiter(offsets, np.int64, 2 * n).reshape(n, 2),
            word=np.fromiter((-1 if word is None else word for word in words), np.int64, n),
        )
        return self._truncated(tokens) if self.truncate else tokens

    def _truncated(self, tokens: TokenizedRows) -> TokenizedRows:
        n_longer = int((tokens.lengths > self.max_length).sum())
        if n_longer:
            warnings.warn(
                f"{n_longer} of {tokens.n_rows} texts have more than {self.max_length} tokens; only the first "
                f"{self.max_length} of each are read. A larger max_length reads more.",
                TruncatedWarning,
                stacklevel=2,
            )
        return tokens.cut_after(self.max_length)

    # State -----------------------------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        return super().to_state() | {"tokenizer": self.tokenizer_.to_str()}

    def _restore(self, state: dict[str, Any]) -> None:
        self.tokenizer = self.tokenizer_ = unrestricted(stored_tokenizer(state["tokenizer"]))


def check_vocab_size(size: Any) -> None:
    """Refuse a vocabulary that could not hold two tokens."""
    if not isinstance(size, int) or size < 2:
        raise SettingError(f"vocab_size must be an integer of at least 2; got {size!r}.")


def _texts(rows: TokenRows) -> list[str]:
    """Every row as it is written, blanks included."""
    return [as_text(value, row) for value, row in zip(rows.values, rows.rows.tolist(), strict=True)]


def _tokenizable(texts: list[str]) -> list[str]:
    """The texts for a tokenizer, some of which make tokens of blanks: nothing is left of a text that is all blanks."""
    return [text if text.strip() else "" for text in texts]
