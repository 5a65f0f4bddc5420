"""Marks: texts among numbers or dates that are none, such as "-" or "unknown", and are values of their own.

A column is still one of numbers with at most `MOST_MARKS` different marks. Those that people use for a value they do
not have may be in up to half of its rows; any other text is a mark only where it is rare.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

MOST_MARKS = 5
# The largest share of rows with marks of any kind, and with marks that are not usual ones.
MOST_MARKED, MOST_UNUSUAL = 0.5, 0.1
# Without case.
USUAL = (
    *("-", "--", "---", "\u2013", "\u2014", "?", "??", "???", ".", "..", "...", "unknown", "unk", "not available"),
    *("not known", "missing", "none", "na", "nil", "n.v.", "n. v.", "k.a.", "k. a.", "k.a", "keine angabe"),
    *("unbekannt", "inconnu", "n.c.", "desconocido", "s/d", "tbd", "tba", "pending"),
)


def is_usual(text: str) -> bool:
    """Whether people write this for a value they do not have.

    >>> is_usual("Unknown"), is_usual("k.A."), is_usual("red")
    (True, True, False)
    """
    return text.casefold() in USUAL


def usual_marks(texts: pa.Array) -> pa.Array:
    """Which of these texts, without blanks around them, are usual marks, as booleans."""
    return pc.is_in(pc.utf8_lower(texts), value_set=pa.array(USUAL, texts.type))


def are_few(marks: Counter[str], rows: int, *, only_usual: bool = False) -> bool:
    """Whether a column of so many rows that are not missing may hold these marks among its numbers."""
    unusual = sum(count for text, count in marks.items() if not is_usual(text))
    share = 0.0 if only_usual else MOST_UNUSUAL
    return len(marks) <= MOST_MARKS and marks.total() <= MOST_MARKED * rows and unusual <= share * rows
