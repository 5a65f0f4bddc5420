"""Marks: texts among numbers or dates that are none, such as "-" or "unknown", and are values of their own.

A column is still one of numbers with at most `MOST_MARKS` different marks. Those that people use for a value they do
not have may be in up to half of its rows; any other text is a mark only where it is rare. Numbers with a slip in them,
such as 12x5, are no marks: where they are few, they are cells that cannot be read.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

MOST_MARKS = 5
# The largest share of rows with marks of any kind, and with marks that are not usual ones.
MOST_MARKED, MOST_UNUSUAL = 0.5, 0.1
# So many different damaged numbers there may be, and in which share of the rows.
MOST_DAMAGED, MOST_DAMAGED_ROWS = 1000, 0.05
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


def look_damaged(texts: pa.Array) -> pa.Array:
    """Which of these texts may be numbers with a slip in them, as booleans: most of their characters are digits.

    >>> look_damaged(pa.array(["12x5", "?690", "1.6L", "12 mg"])).to_pylist()
    [True, True, False, False]
    """
    digits = pc.cast(pc.count_substring_regex(texts, "[0-9]"), pa.int64())
    return pc.greater(pc.multiply(digits, 2), pc.cast(pc.utf8_length(texts), pa.int64()))


def are_few(marks: Counter[str], rows: int, *, only_usual: bool = False) -> bool:
    """Whether a column of so many rows that are not missing may hold these marks among its numbers."""
    unusual = sum(count for text, count in marks.items() if not is_usual(text))
    share = 0.0 if only_usual else MOST_UNUSUAL
    return len(marks) <= MOST_MARKS and marks.total() <= MOST_MARKED * rows and unusual <= share * rows
