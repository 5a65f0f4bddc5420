"""One column of free text: how odd what it says is, by its language and beside the other columns of the row.

N rows, T tokens of all their texts, W tokens of the vocabulary that are counted beside other columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from maskdiff.codes import Codes, FloatArray, Schema
from maskdiff.encoders.table.text_cells import TextCells, TextTokens
from maskdiff.errors import SettingError
from maskdiff.evidence.base import State
from maskdiff.evidence.texts.context import Context
from maskdiff.evidence.texts.language import Language, Places
from maskdiff.evidence.texts.usual import TextChoice, UsualText
from maskdiff.score import PROBABILITY_FLOOR
from maskdiff.state import check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, named, under

# The most frequent tokens are counted beside other columns, if these have few enough values; a few columns say it all.
_MOST_COUNTED, _MOST_VALUES, _MOST_CONTEXTS = 5000, 64, 8
_ERRORS = 3.0


@dataclass(frozen=True, eq=False)
class TextColumn:
    """The column at place `at` of the schema: its language, and the contexts that were found to say something."""

    at: int
    language: Language
    contexts: tuple[Context, ...]
    usual: UsualText | None = None

    @classmethod
    def of(cls, codes: Codes, at: int) -> TextColumn:
        """Learned from normal rows, as far as they have a text; nothing is decided yet."""
        tokens = _cells(codes, at).tokens()
        language = Language.of(tokens)
        bare = cls(at, language, ())
        bag = bare._bag(tokens, language.places(tokens))
        there = np.flatnonzero(tokens.lengths > 0)
        fields = enumerate(codes.schema)
        others = [(j, one) for j, one in fields if one.type != codes.schema.fields[at].type]
        contexts = (
            Context.of(one.name, bag[there], codes.values[there, j].astype(np.int64), one.size)
            for j, one in others
            if 1 < one.size <= _MOST_VALUES
        )
        return replace(bare, contexts=tuple(contexts))

    def choose(self, held_out: Codes) -> TextChoice:
        """What normal rows that were not learned from decide."""
        tokens = _cells(held_out, self.at).tokens()
        places, there = self.language.places(tokens), np.flatnonzero(tokens.lengths > 0)
        bag, codes = self._bag(tokens, places)[there], held_out.take(there)
        found = {one.column: one.best_trust(bag, _values(codes, one)) for one in self.contexts}
        best = sorted((name for name in found if found[name][0]), key=lambda name: -found[name][1])
        return TextChoice(self._usual(tokens, places), {name: found[name][0] for name in best[:_MOST_CONTEXTS]})

    def _usual(self, tokens: TextTokens, places: Places) -> UsualText | None:
        """None if the texts are as likely when every token is spelled letter by letter: then no token repeats."""
        if len(places) < 2:
            return None
        surprise = self.language.surprise(tokens, places)
        spelled = self.language.spelling(tokens, np.ones(len(places), np.bool_))
        gain = np.minimum(spelled, -np.log(PROBABILITY_FLOOR)) - surprise
        says = gain.mean() > _ERRORS * gain.std() / np.sqrt(len(gain))
        return UsualText.of(surprise, tokens.row) if says else None

    def decided(self, choice: TextChoice) -> TextColumn:
        """The same with what was decided."""
        known = {one.column: one for one in self.contexts}
        chosen = [replace(known[name], trust=trust) for name, trust in choice.trusts.items() if name in known]
        return replace(self, contexts=tuple(chosen), usual=choice.usual)

    # Answering -------------------------------------------------------------------------------------------------------

    def surprise(self, codes: Codes) -> FloatArray:
        """How odd each text is, in nats, (N,); 0 for usual texts, and where there is none.

        By its language as much as a normal deviate that far from its mean, and besides how much less
        likely it makes the values in the row, of the columns that the texts say something about.
        """
        answer, values = np.zeros(len(codes)), codes.without_excess()
        for here, part in _cells(codes, self.at).parts():
            answer[here] = self._surprise(part.tokens(), values.take(here))
        return answer

    def _surprise(self, tokens: TextTokens, codes: Codes) -> FloatArray:
        places, nats = self.language.places(tokens), np.zeros(tokens.n_rows)
        if self.usual is not None:
            surprise = self.language.surprise(tokens, places)
            nats += self.usual.deviation(surprise, tokens.row, tokens.n_rows) ** 2 / 2
        bag = self._bag(tokens, places) if self.contexts else None
        for context in self.contexts:
            nats += context.surprise(bag, _values(codes, context)) * (tokens.lengths > 0)
        bounded: FloatArray = np.minimum(nats, -np.log(PROBABILITY_FLOOR))
        return bounded

    def token_parts(self, codes: Codes) -> list[tuple[list[str], FloatArray]]:
        """For each row the tokens of its text, and how much each adds to what makes it odd."""
        tokens = _cells(codes, self.at).tokens()
        places, parts = self.language.places(tokens), np.zeros(len(tokens.row))
        if self.usual is not None:
            surprise = self.language.surprise(tokens, places)
            beyond = np.maximum(surprise - self.usual.mean, 0.0)
            odd = self.usual.deviation(surprise, tokens.row, tokens.n_rows) ** 2 / 2
            parts += beyond * (odd / np.maximum(np.bincount(tokens.row, beyond, tokens.n_rows), 1e-9))[tokens.row]
        bag = self._bag(tokens, places)
        counted = places < bag.shape[1]
        for context in self.contexts:
            speaks = np.zeros(len(places))
            speaks[counted] = context.token_parts(bag, _values(codes, context), tokens.row[counted], places[counted])
            odds = context.surprise(bag, _values(codes, context))
            parts += speaks * (odds / np.maximum(np.bincount(tokens.row, speaks, tokens.n_rows), 1e-9))[tokens.row]
        texts, ends = tokens.distinct.take(tokens.place).to_pylist(), np.cumsum(tokens.lengths).tolist()
        starts = [0, *ends[:-1]]
        return [(texts[start:end], parts[start:end]) for start, end in zip(starts, ends, strict=True)]

    def contradicted(self, codes: Codes) -> tuple[list[str], FloatArray]:
        """Of each row the column that its text contradicts most, and by how much, in nats; "" and 0 for none."""
        tokens = _cells(codes, self.at).tokens()
        bag = self._bag(tokens, self.language.places(tokens))
        odds = [context.surprise(bag, _values(codes, context)) * (tokens.lengths > 0) for context in self.contexts]
        by_context = np.stack([np.zeros(len(codes)), *odds], axis=1)
        names = ["", *(context.column for context in self.contexts)]
        return [names[place] for place in by_context.argmax(axis=1).tolist()], by_context.max(axis=1)

    def _bag(self, tokens: TextTokens, places: Places) -> csr_array:
        """Which of the counted tokens each text holds, ones and zeros, (N, W)."""
        width = max(min(len(self.language.vocabulary), _MOST_COUNTED), 1)
        counted = places < width
        ones = np.ones(int(counted.sum()))
        bag = csr_array((ones, (tokens.row[counted], places[counted])), shape=(tokens.n_rows, width))
        bag.sum_duplicates()
        bag.data[:] = 1.0
        return bag

    # Keeping ---------------------------------------------------------------------------------------------------------

    def to_state(self) -> State:
        """The language, the contexts and what is usual."""
        language, tensors = self.language.to_state()
        contexts = [context.to_state() for context in self.contexts]
        parts = named(tensors, "language")
        for number, (_, held) in enumerate(contexts):
            parts |= named(held, f"context{number}")
        plain = {"language": language, "contexts": [one for one, _ in contexts], "usual": to_plain(self.usual)}
        return plain, parts

    @classmethod
    def from_state(cls, at: int, plain: Any, tensors: Tensors, schema: Schema) -> Self:
        """The column that `to_state` described."""
        wanted = {"language", "contexts", "usual"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a column of texts completely")
        check(isinstance(plain["contexts"], list), "the contexts of its texts are no list")
        language = Language.from_state(plain["language"], under(tensors, "language"))
        width = max(min(len(language.vocabulary), _MOST_COUNTED), 1)
        sizes = {one.name: one.size for one in schema}
        contexts = tuple(
            Context.from_state(one, under(tensors, f"context{number}"), sizes, width)
            for number, one in enumerate(plain["contexts"])
        )
        used = {"language", *(f"context{number}" for number in range(len(contexts)))}
        check({name.split(".")[0] for name in tensors} <= used, "it holds tensors of texts that nothing uses")
        return cls(at, language, contexts, from_plain(plain["usual"], UsualText | None))


def _cells(codes: Codes, at: int) -> TextCells:
    """The texts of the column."""
    cells = None if codes.texts is None else codes.texts.get(at)
    if not isinstance(cells, TextCells):
        raise SettingError(f"these rows came without the texts of column {codes.schema.fields[at].name!r}.")
    return cells


def _values(codes: Codes, context: Context) -> NDArray[np.int64]:
    """The codes of the other column, (N,)."""
    at = codes.schema.names.index(context.column)
    return codes.values[:, at].astype(np.int64)
