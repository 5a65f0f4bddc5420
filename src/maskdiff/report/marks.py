"""The text of a row in pieces, each shaded by how odd it is and linked to the explained cell it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from maskdiff.codes import IntArray
from maskdiff.explanations.shading import Piece, Span


@dataclass(frozen=True)
class Mark(Piece):
    """A piece of a text; `cell` is the place of the explained cell it belongs to, -1 for none."""

    cell: int = -1


def span_of(line: Any, spans: IntArray) -> Span:
    """The characters of a token in a line of `explain`, which gives either its characters or its position."""
    start, end = spans[line.position] if hasattr(line, "position") else (line.start, line.end)
    return int(start), int(end)


def mark_spans(pieces: Sequence[Piece], spans: Sequence[Span]) -> list[Mark]:
    """The same text, in which each span is one piece with the highest strength inside it.

    Where spans overlap, the first one takes the characters.

    >>> mark_spans([Piece("a ", 0.0), Piece("b", 0.5), Piece("c", 1.0)], [(2, 4)])
    [Mark(text='a ', strength=0.0, cell=-1), Mark(text='bc', strength=1.0, cell=0)]
    """
    text = "".join(piece.text for piece in pieces)
    strength = np.repeat([piece.strength for piece in pieces], [len(piece.text) for piece in pieces])
    cell_of = np.full(len(text), -1)
    for cell, (start, end) in reversed(list(enumerate(spans))):
        cell_of[start:end] = cell
        strength[start:end] = strength[start:end].max(initial=0.0)
    marks = []
    for (cell, shade), run in groupby(range(len(text)), key=lambda at: (int(cell_of[at]), float(strength[at]))):
        positions = list(run)
        marks.append(Mark(text[positions[0] : positions[-1] + 1], shade, cell))
    return marks
