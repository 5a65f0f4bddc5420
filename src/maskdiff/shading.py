"""A text cut into pieces, each with how odd it is: for terminals, for HTML, for paper, or for whatever draws next.

Nothing in the text is taken for markup: pieces hold the text as it is, and HTML is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

import numpy as np

from maskdiff.codes import BoolArray, FloatArray

# Strengths from here on are drawn; below, a piece looks like any other.
FAINTEST = 0.15
# From this level on a piece is marked where it cannot be shaded.
MARKED = 2
# The strength of what stands for a part that is not shown.
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


def shade(text: str, spans: Sequence[tuple[int, int]], strength: Sequence[float] | FloatArray) -> list[Piece]:
    """The whole text in pieces; a character that several spans cover is as odd as the oddest of them.

    >>> shade("free cash now", [(0, 4), (5, 9)], [0.0, 1.0])
    [Piece(text='free ', strength=0.0), Piece(text='cash', strength=1.0), Piece(text=' now', strength=0.0)]
    """
    of_character = np.zeros(len(text))
    for (start, end), odd in zip(spans, strength, strict=True):
        of_character[start:end] = np.maximum(of_character[start:end], odd)
    runs = groupby(range(len(text)), key=lambda at: float(of_character[at]))
    pieces = []
    for odd, places in runs:
        inside = list(places)
        pieces.append(Piece(text[inside[0] : inside[-1] + 1], odd))
    return pieces


def excerpt(pieces: Sequence[P], most: int, around: int = 60) -> list[P]:
    """A long text cut down to about `most` characters: its odd pieces, the oddest first, each with what is around it.

    What is left out is a piece that says how long it was; its strength is negative, so it is no part of the text.

    >>> long = [Piece("a" * 500, 0.0), Piece("odd", 1.0), Piece("z" * 500, 0.0)]
    >>> [piece.text for piece in excerpt(long, most=100, around=5)]
    ['… (495 characters) …', 'aaaaa', 'odd', 'zzzzz', '… (495 characters) …']
    """
    ends = np.cumsum([len(piece.text) for piece in pieces])
    total = int(ends[-1]) if len(ends) else 0
    if total <= most:
        return list(pieces)
    kept = np.zeros(total, dtype=np.bool_)
    odd = [at for at in np.argsort([-piece.strength for piece in pieces], kind="stable") if pieces[at].level]
    for at in odd or [0]:
        first, last = ends[at] - len(pieces[at].text), min(ends[at], ends[at] - len(pieces[at].text) + most)
        if kept.sum() >= most:
            break
        kept[max(0, first - around) : last + around] = True
    return [
        part for at, piece in enumerate(pieces) for part in _kept(piece, kept[ends[at] - len(piece.text) : ends[at]])
    ]


def _kept(piece: P, kept: BoolArray) -> Iterator[P]:
    """The runs of a piece that are kept, and in place of the others how long they were."""
    for keep, places in groupby(range(len(kept)), key=lambda at: bool(kept[at])):
        inside = list(places)
        text = piece.text[inside[0] : inside[-1] + 1]
        gap = f"… ({len(text):,} characters) …"
        yield replace(piece, text=text) if keep else replace(piece, text=gap, strength=LEFT_OUT)


def to_plain(pieces: Sequence[Piece]) -> str:
    """The text for where there are no colours: odd pieces stand in double brackets.

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
