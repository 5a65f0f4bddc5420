from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from maskdiff.explanations.shading import Piece, excerpt, shade, strengths, to_html, to_plain, to_terminal


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5))
def test_pieces_put_together_are_the_text(text, bounds):
    spans = [(min(pair), min(max(pair), len(text))) for pair in bounds]
    pieces = shade(text, spans, np.linspace(0, 1, len(spans)))
    assert "".join(piece.text for piece in pieces) == text


def test_a_character_under_two_spans_is_as_odd_as_the_oddest():
    assert shade("abc", [(0, 2), (1, 3)], [0.5, 1.0]) == [Piece("a", 0.5), Piece("bc", 1.0)]


def test_the_oddest_token_has_strength_one_and_even_ones_none():
    assert strengths(np.array([1.0, 1.0, 4.0])).tolist() == [0, 0, 1]
    assert strengths(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert strengths(np.array([np.nan])).tolist() == [0]
    assert strengths(np.array([])).tolist() == []


def test_nothing_in_a_text_is_taken_for_html():
    text = "<script>alert('x')</script> & \"more\""
    for strength in (0.0, 1.0):
        shown = to_html([Piece(text, strength)])
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown


@pytest.mark.parametrize("character", ["\x1b", "\x00", "\x7f", "\u202e", "\ud83d"])
def test_characters_that_would_act_are_shown_as_escapes(character):
    for shown in (to_html([Piece(f"a{character}b", 1.0)]), to_terminal([Piece(f"a{character}b", 1.0)])[0][0]):
        assert character not in shown
        assert f"{ord(character):02x}" in shown


def test_stronger_pieces_are_drawn_stronger_and_calm_ones_like_any_text():
    marks = [to_html([Piece("x", strength)]) for strength in (0.0, 0.2, 0.5, 1.0)]
    assert marks[0] == "<bdi>x</bdi>"
    assert len(set(marks)) == 4
    assert "odd-4" in marks[-1]


def test_rich_takes_the_pairs_without_reading_markup():
    pairs = to_terminal([Piece("[bold]see[/bold] ", 0.0), Piece("cash", 1.0)])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(Text.assemble(*pairs))
    assert console.export_text().strip() == "[bold]see[/bold] cash"


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1)), max_size=12), st.integers(5, 60), st.integers(0, 9))
def test_an_excerpt_holds_the_text_except_what_it_says_is_left_out(shaded, most, around):
    pieces = [Piece(text, strength) for text, strength in shaded]
    parts, rest = excerpt(pieces, most, around), "".join(piece.text for piece in pieces)
    whole = len(rest)
    for part in parts:
        left_out = int(part.text.split("(")[1].split()[0].replace(",", "")) if part.strength < 0 else 0
        assert part.strength < 0 or rest.startswith(part.text)
        rest = rest[left_out or len(part.text) :]
    assert rest == ""
    shown = sum(len(part.text) for part in parts if part.strength >= 0)
    assert shown == whole if whole <= most else shown <= 2 * (most + 2 * around)


def test_the_oddest_piece_of_a_long_text_is_always_shown():
    pieces = [Piece("calm " * 500, 0.0), Piece("zoo", 1.0), Piece(" calm" * 500, 0.0)]
    assert "[[zoo]]" in to_plain(excerpt(pieces, 100))


def test_without_colours_odd_pieces_are_in_brackets():
    assert to_plain([Piece("see you ", 0.0), Piece("at", 0.2), Piece(" zoo", 1.0)]) == "see you at[[ zoo]]"
