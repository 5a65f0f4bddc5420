"""A pre-trained text embedder: every token of a text as a vector that knows its context, and the text as their mean.

T tokens of several texts, H width of the embedder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from maskdiff.encoders.tokens.model_folder import model_from, most_tokens, reading, special_tokens, tokenizer_of
from maskdiff.encoders.tokens.stored_tokenizer import stored_tokenizer
from maskdiff.encoders.tokens.tokenizers import unrestricted
from maskdiff.errors import InputError
from maskdiff.state import arguments_from_plain, arguments_to_plain, check

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_EXPECTED = "a text embedder"


@dataclass(frozen=True, eq=False)
class Embedded:
    """The tokens of some texts as vectors (T, H), of which text each is (T,), rising, and its characters (T, 2).

    Special tokens stand for no characters: they begin and end at -1.
    """

    first: int
    n_texts: int
    vectors_TH: Tensor
    text: NDArray[np.int64]
    span: NDArray[np.int64]


@dataclass(eq=False)
class TextEmbedder:
    """An embedder in a folder that transformers can read, such as those of sentence-transformers.

    `config` and `tokenizer` are what the folder held, so that a saved detector does not need the folder.

    Settings of the class, which change memory and speed only: a text goes through the model in windows of at most
    `max_window` tokens, about `tokens_at_once` of them in one call, and `tokens_held` vectors are held at a time.
    """

    max_window: ClassVar[int] = 256
    tokens_at_once: ClassVar[int] = 1 << 12
    tokens_held: ClassVar[int] = 1 << 16

    folder: str | os.PathLike[str]
    config: str | None = None
    tokenizer: str | None = None

    model_: Any = field(init=False, repr=False)

    # Loading and keeping ---------------------------------------------------------------------------------------------

    def load(self, device: torch.device) -> Self:
        """A copy with the folder's model."""
        with reading(self.folder, _EXPECTED) as transformers:
            model = transformers.AutoModel.from_pretrained(self.folder)
        tokenizer = unrestricted(tokenizer_of(self.folder)).to_str()
        return replace(self, config=model.config.to_json_string(), tokenizer=tokenizer)._with(model, device)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The settings, and the model's weights."""
        return arguments_to_plain(self), self.model_.state_dict()

    @classmethod
    def from_state(cls, plain: Any, tensors: Mapping[str, Tensor], *, device: torch.device) -> Self:
        """The embedder that `to_state` described; its folder is not needed."""
        kept = cls(**arguments_from_plain(cls, plain))
        model = model_from(str(kept.config), tensors, "its text embedder")
        return kept._with(model, device)._checked()

    def _checked(self) -> Self:
        """The same, if the model knows all tokens of the tokenizer."""
        n_tokens = self.model_.get_input_embeddings().num_embeddings
        ids = (*self._tokenizer.get_vocab(with_added_tokens=True).values(), *self._before, *self._after)
        check(max(ids, default=0) < n_tokens, "its text embedder lacks tokens of its tokenizer")
        return self

    def _with(self, model: Any, device: torch.device) -> Self:
        self.model_ = model.float().eval().requires_grad_(False).to(device)
        self._tokenizer = stored_tokenizer(self.tokenizer)
        self._before, self._after = special_tokens(self._tokenizer)
        limit = most_tokens(model.config, len(self._before) + len(self._after))
        self._longest = self.max_window if limit is None else min(limit, self.max_window)
        if self._longest < 1:
            raise InputError(f"the embedder in {self.folder} sees no token beside its special ones.")
        return self

    # Reading ---------------------------------------------------------------------------------------------------------

    def embed(self, texts: Sequence[str]) -> Iterator[Embedded]:
        """The tokens of these texts, some texts at a time; a long text in windows, no token left out."""
        first = 0
        while first < len(texts):
            n, held = 0, 0
            encodings = []
            while first + n < len(texts) and (held < self.tokens_held or not n):
                encodings.append(self._tokenizer.encode(texts[first + n], add_special_tokens=False))
                held += len(encodings[-1].ids)
                n += 1
            yield self._embedded(first, encodings)
            first += n

    def _embedded(self, first: int, encodings: list[Any]) -> Embedded:
        import torch

        before, after = [(-1, -1)] * len(self._before), [(-1, -1)] * len(self._after)
        windows, text, span = [], [], []
        for number, encoding in enumerate(encodings):
            ids, offsets = encoding.ids, encoding.offsets  # each of them is made anew when asked for
            # A text without a single token is its special tokens.
            for at in range(0, max(len(ids), 1), self._longest):
                inside = slice(at, at + self._longest)
                windows.append([*self._before, *ids[inside], *self._after])
                span += [*before, *offsets[inside], *after]
                text += [number] * len(windows[-1])
        lengths = np.array([len(window) for window in windows])
        place = np.concatenate([[0], np.cumsum(lengths)])
        vectors_TH = torch.empty(int(place[-1]), self.model_.config.hidden_size, device=self.model_.device)
        for lines in _batches(lengths, self.tokens_at_once):
            for line, vectors in zip(lines, self._vectors([windows[i] for i in lines]), strict=True):
                vectors_TH[place[line] : place[line + 1]] = vectors
        return Embedded(first, len(encodings), vectors_TH, np.array(text), np.array(span).reshape(-1, 2))

    def _vectors(self, windows: list[list[int]]) -> list[Tensor]:
        """The vectors of each window, computed together."""
        import torch

        lengths = torch.tensor([len(window) for window in windows])
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(window) for window in windows], batch_first=True)
        seen = torch.arange(ids.shape[1]) < lengths[:, None]
        device = self.model_.device
        with torch.inference_mode():
            states = self.model_(ids.to(device), attention_mask=seen.long().to(device)).last_hidden_state
        return [one[:n] for one, n in zip(states, lengths.tolist(), strict=True)]


def _batches(lengths: NDArray[np.int64], at_once: int) -> Iterator[NDArray[np.int64]]:
    """Windows of about the same length together, so that little padding is computed."""
    order = np.argsort(lengths, kind="stable")
    at = 0
    while at < len(order):
        # The longest of a batch is its last: as many windows as fit if all were that long.
        n = max(1, int(np.searchsorted(lengths[order[at:]] * np.arange(1, len(order) - at + 1), at_once)))
        yield order[at : at + n]
        at += n
