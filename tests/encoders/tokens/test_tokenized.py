"""Rows that were cut into tokens: what is carried along is what cutting them again would give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.encoders.tokens.tokenized import TokenizedRows

NORMAL = ["See you at nine, ok?", "see you at ten", "Call me at ten please", "are you at home"] * 5
TEXTS = ["see you at teens", "", "  call\tme  ", None, "are 😀 you", "see you at ten " * 9]
FIELDS = ("texts", "lengths", "symbols", "offsets", "word", "spans", "first")


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(max_length=6, overlap=2).fit(NORMAL)


def assert_equal(tokens, others):
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(tokens, name), getattr(others, name))


@pytest.mark.parametrize("rows", [[4, 0, 4], [], [1], np.array([True, False, False, False, False, True])])
def test_rows_taken_are_those_rows_cut_alone(encoder, rows):
    alone = [TEXTS[i] for i in np.arange(len(TEXTS))[np.array(rows, dtype=int if len(rows) < 6 else bool)]]
    assert_equal(encoder.tokenize(TEXTS).take(rows if len(rows) else np.array([], int)), encoder.tokenize(alone))


@pytest.mark.parametrize("kind", [TextEncoder, SequenceEncoder])
def test_rows_that_were_cut_are_not_cut_again(kind):
    rows = NORMAL if kind is TextEncoder else [text.split() for text in NORMAL]
    encoder = kind().fit(rows)
    tokens = encoder.tokenize(rows)
    assert encoder.tokenize(tokens) is tokens
    assert (encoder.encode(tokens).values == encoder.encode(rows).values).all()
    assert encoder.display(tokens, [1, 0], [2, 1]) == encoder.display(rows, [1, 0], [2, 1]) == ["at", "you"]


def test_fitting_and_encoding_in_one_step_gives_the_same_codes():
    once, twice = TextEncoder(), TextEncoder()
    codes = once.fit_encode(NORMAL)
    assert (codes.values == twice.fit(NORMAL).encode(NORMAL).values).all()
    assert once.to_state() == twice.to_state()


def test_every_cell_knows_its_token(encoder):
    codes = encoder.encode(TEXTS)
    line, cell = np.nonzero(codes.real)
    symbols = codes.tokens.symbols[codes.token_at(line, cell)]
    known = codes.known[line, cell]
    assert [encoder.symbols_[code] for code in codes.values[line, cell][known]] == symbols[known].tolist()
    of_cells = codes.per_cell(codes.tokens.symbols, padding=-1)
    assert of_cells[line, cell].tolist() == symbols.tolist()
    assert (of_cells[~codes.real] == -1).all()


def test_windows_taken_by_row_bring_the_tokens_of_those_rows(encoder):
    chosen = np.array([5, 0, 5])
    taken = encoder.encode(TEXTS).take_rows(chosen)
    alone = encoder.encode([TEXTS[i] for i in chosen])
    assert_equal(taken.tokens, alone.tokens)
    np.testing.assert_array_equal(taken.row, alone.row)
    assert not hasattr(taken.without_tokens(), "tokens")


@given(st.lists(st.tuples(st.text(" \t\u3000\x1cab\ud83d", max_size=9), st.integers(0, 9), st.integers(0, 9))))
def test_spans_are_the_offsets_without_the_blanks_at_their_ends(rows):
    bounds = [sorted((min(a, len(text)), min(b, len(text)))) for text, a, b in rows]
    ones = np.ones(len(rows), dtype=np.int64)
    texts = np.array([text for text, *_ in rows], dtype=object)
    tokens = TokenizedRows(texts, ones, ones, np.array(bounds, dtype=np.int64).reshape(-1, 2), ones)
    for text, (start, end), span in zip(texts, bounds, tokens.spans.tolist(), strict=True):
        piece = text[start:end]
        assert text[span[0] : span[1]] == (piece.strip() or piece)
        assert start <= span[0] <= span[1] <= end
