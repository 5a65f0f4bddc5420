"""A text cut into pieces, each with how odd it is: for terminals, for HTML, for paper, or for whatever draws next.

Nothing in the text is taken for markup: pieces hold the text as it is, and HTML is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from maskdiff.codes import FloatArray

# Strengths from here on are drawn; below, a piece looks like any other.
FAINTEST = 0.15
# From this level on a piece is marked where it cannot be shaded.
MARKED = 2
# The strength of a piece that replaces a part not shown.
LEFT_OUT = -1.0
_LEVELS = 4
_TERMINAL = ("", "on rgb(70,50,30)", "on rgb(110,65,25)", "on rgb(160,80,20)", "bold on rgb(200,80,20)")


@dataclass(frozen=True)
class Piece:
    """A run of characters and how odd it is, from 0 (not at all) to 1 (the oddest of its text)."""

    text: str
    strength: float

    @property
    def level(self) -> int:
        """The strength in steps from 0 to 4.

        >>> [Piece("a", s).level for s in (0.0, 0.1, 0.2, 0.6, 1.0)]
        [0, 0, 1, 3, 4]
        """
        return 0 if self.strength < FAINTEST else max(1, round(self.strength * _LEVELS + 0.25))


P = TypeVar("P", bound=Piece)

# The characters of a text from start to end (excluded).
Span = tuple[int, int]


def strengths(contributions: FloatArray) -> FloatArray:
    """How odd each token is among the tokens of its text, shape (n,): 0 up to an even share, 1 for the largest.

    >>> strengths(np.array([0.1, 0.1, 0.1, 0.9])).round(2)
    array([0., 0., 0., 1.])
    """
    if not len(contributions) or not np.isfinite(contributions).all():
        return np.zeros(len(contributions))
    even = contributions.mean()
    above = contributions - even
    # Tokens that all add about as much leave nothing to point at.
    relative: FloatArray = above / max(float(above.max()), 0.05 * float(even), 1e-12)
    return relative.clip(0.0, 1.0)


def shade(text: str, spans: Iterable[Span], strength: Iterable[float]) -> list[Piece]:
    """The whole text in pieces; a character that several spans cover is as odd as the oddest of them.

    >>> shade("free cash now", [(0, 4), (5, 9)], [0.0, 1.0])
    [Piece(text='free ', strength=0.0), Piece(text='cash', strength=1.0), Piece(text=' now', strength=0.0)]
    """
    of_character = np.zeros(len(text))
    for (start, end), odd in zip(spans, strength, strict=True):
        if odd > 0:
            of_character[start:end] = np.maximum(of_character[start:end], odd)
    edges = [0, *(np.flatnonzero(np.diff(of_character)) + 1).tolist(), len(text)] if text else []
    return [Piece(text[start:end], float(of_character[start])) for start, end in pairwise(edges)]


def excerpt(pieces: Sequence[P], most: int, around: int = 60) -> list[P]:
    """A long text cut down to about `most` characters: its odd pieces, the oddest first, each with what is around it.

    What is left out is a piece that says how long it was; its strength is negative, so it is no part of the text.

    >>> long = [Piece("a" * 500, 0.0), Piece("odd", 1.0), Piece("z" * 500, 0.0)]
    >>> [piece.text for piece in excerpt(long, most=100, around=5)]
    ['… (495 characters) …', 'aaaaa', 'odd', 'zzzzz', '… (495 characters) …']
    """
    lengths = np.array([len(piece.text) for piece in pieces], dtype=np.int64)
    if lengths.sum() <= most:
        return list(pieces)
    first = np.cumsum(lengths) - lengths
    kept = np.zeros(lengths.sum(), dtype=np.bool_)
    strongest = np.argsort([-piece.strength for piece in pieces], kind="stable").tolist()
    for at in [at for at in strongest if pieces[at].level] or [0]:
        kept[max(0, first[at] - around) : first[at] + min(lengths[at], most) + around] = True
        if kept.sum() >= most:
            break
    of_piece = np.where(kept, np.repeat(np.arange(len(pieces)), lengths), -1)
    edges = np.flatnonzero(np.diff(of_piece, prepend=-2, append=-2)).tolist()
    text = "".join(piece.text for piece in pieces)
    return [_part(pieces, int(of_piece[a]), text[a:b]) for a, b in pairwise(edges)]


def _part(pieces: Sequence[P], of: int, text: str) -> P:
    """A part of a piece, or the piece that replaces a part left out."""
    if of >= 0:
        return replace(pieces[of], text=text)
    return replace(pieces[0], text=f"… ({len(text):,} characters) …", strength=LEFT_OUT)


def to_plain(pieces: Sequence[Piece]) -> str:
    """The text for where there are no colours: odd pieces are in double brackets.

    >>> to_plain([Piece("ok ", 0.1), Piece("bad\\x1b", 1.0)])
    'ok [[bad\\\\x1b]]'
    """
    return "".join(f"[[{visible(p.text)}]]" if p.level >= MARKED else visible(p.text) for p in pieces)


def to_terminal(pieces: Sequence[Piece]) -> list[tuple[str, str]]:
    """Pairs of text and rich style, as `rich.text.Text.assemble` takes them; control characters are made visible.

    >>> to_terminal([Piece("ok ", 0.0), Piece("bad\\x1b", 1.0)])
    [('ok ', ''), ('bad\\\\x1b', 'bold on rgb(200,80,20)')]
    """
    return [(visible(piece.text), _TERMINAL[min(piece.level, _LEVELS)]) for piece in pieces]


def to_html(pieces: Sequence[Piece]) -> str:
    """The text as HTML, odd pieces in `<mark class="odd-1">` to `odd-4`; right-to-left text keeps its direction.

    >>> to_html([Piece("a < b ", 0.0), Piece("<script>", 1.0)])
    '<bdi>a &lt; b <mark class="odd-4">&lt;script&gt;</mark></bdi>'
    """
    parts = []
    for piece in pieces:
        shown = html.escape(visible(piece.text))
        parts.append(f'<mark class="odd-{min(piece.level, _LEVELS)}">{shown}</mark>' if piece.level else shown)
    return f"<bdi>{''.join(parts)}</bdi>"


def visible(text: str) -> str:
    """Control characters, lone surrogates and characters that turn the direction around, written as escapes."""
    hidden = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    return "".join(
        f"\\x{ord(c):02x}" if (ord(c) < 32 and c not in "\n\t") or ord(c) == 127
        else f"\\u{ord(c):04x}" if c in hidden or 0xD800 <= ord(c) <= 0xDFFF
        else c
        for c in text
    )  # fmt: skip
