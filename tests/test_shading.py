from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from maskdiff.shading import Piece, shade, strengths, to_html, to_terminal


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
