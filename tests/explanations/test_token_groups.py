"""Which tokens an explanation names together, against the rule written as a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.explanations.token_groups import TokenGroups

NORMAL = ["see you at nine, ok?", "see you at ten", "call me at ten please"] * 5
WORDS = st.sampled_from(["see", "at", "ten", "teens", "sees", "zoo", "pleased", "ok?", "??", "nineten", "ω", "sω"])
ENCODERS = {size: TextEncoder(vocab_size=size, max_length=5, overlap=2).fit(NORMAL) for size in (40, 50_000)}


def last_cells(codes):
    """An unseen piece goes with the one before it, if that is unseen too or begins the word."""
    last = np.tile(np.arange(codes.values.shape[1]), (len(codes), 1))
    for line in range(len(codes)):
        first = codes.tokens.first[codes.row[line]] + codes.start[line]
        word = codes.tokens.word[first : first + codes.real[line].sum()]
        new, counts = ~codes.known[line] & codes.counts[line], codes.counts[line]
        for cell in reversed(range(len(word) - 1)):
            begins = word[cell] != (word[cell - 1] if cell else -1)
            if new[cell + 1] and counts[cell] and word[cell + 1] == word[cell] and (new[cell] or begins):
                last[line, cell] = last[line, cell + 1]
    return last


@pytest.mark.parametrize("size", ENCODERS)
@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=4))
def test_pieces_of_a_new_word_are_one_group(size, texts):
    codes = ENCODERS[size].encode(texts)
    assert TokenGroups.of(codes).last.tolist() == last_cells(codes).tolist()


@pytest.mark.parametrize("by", [np.add, np.maximum])
@given(st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=4))
def test_a_group_has_its_value_on_its_first_cell(by, texts):
    codes = ENCODERS[50_000].encode(texts)
    groups, values = TokenGroups.of(codes), np.random.default_rng(0).random(codes.values.shape)
    combined, expected = groups.combine(values, by), values.copy()
    for line, cell in np.argwhere(groups.last[:, :-1] == groups.last[:, 1:])[::-1]:
        expected[line, cell], expected[line, cell + 1] = by(expected[line, cell], expected[line, cell + 1]), 0.0
    np.testing.assert_allclose(combined, expected, rtol=1e-12)


def test_a_group_stands_for_the_whole_word():
    codes = ENCODERS[50_000].encode(["see zoos"])
    groups = TokenGroups.of(codes)
    line, cell = np.nonzero(codes.counts & groups.is_first)
    assert codes.tokens.slices(codes.row[line], groups.spans(codes, line, cell)) == ["see", "zoos"]


def test_symbols_always_stand_alone():
    codes = SequenceEncoder().fit([["a", "b"]]).encode([["x", "y", "a"], ["x"]])
    assert TokenGroups.of(codes).is_first.all()
