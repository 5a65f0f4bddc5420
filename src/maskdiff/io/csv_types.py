"""What the texts of a column stand for, decided over all of its rows and never over the first few.

| every cell that is not missing | kind | as in pandas.read_csv |
|---|---|---|
| true, True, TRUE, false, False, FALSE | boolean | yes |
| a whole number, and no cell is missing | integer | yes |
| a number | number | yes |
| a date or date and time in ISO form | date | no: there it stays text |
| anything else | text | yes |

CSV has no types, so all its columns are decided so. Other formats declare theirs; there only texts that are all dates
become dates. An empty cell of a CSV file is missing, as are NA, NaN, null and the other words of `MISSING`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.table.cells import parse_moment

# The words pandas.read_csv takes for missing.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
_WORDS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
# Whole numbers up to here are told apart as floats.
_EXACT = 2.0**53


def without_missing(texts: pa.Array) -> pa.Array:
    """Null where a cell of a CSV file is missing."""
    missing = pc.is_in(texts, value_set=pa.array(MISSING, texts.type))
    return pc.if_else(missing, pa.scalar(None, texts.type), texts)


def to_booleans(texts: pa.Array) -> pa.Array:
    return pa.array(list(_WORDS.values())).take(pc.index_in(texts, value_set=_words(texts)))


def _words(texts: pa.Array) -> pa.Array:
    return pa.array(list(_WORDS), texts.type)


def to_integers(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^\+", "").cast(pa.int64())


def to_numbers(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(texts).cast(pa.float64())


def to_dates(texts: pa.Array) -> pa.Array:
    distinct = texts.dictionary_encode()
    ticks = pa.array([parse_moment(text) for text in distinct.dictionary.to_pylist()], pa.int64())
    return ticks.take(distinct.indices).cast(pa.timestamp("us"))


def _all_match(pattern: str, convert: Callable[[pa.Array], pa.Array]) -> Callable[[pa.Array], bool]:
    def fits(texts: pa.Array) -> bool:
        if not pc.all(pc.match_substring_regex(pc.utf8_trim_whitespace(texts), pattern)).as_py():
            return False
        try:
            convert(texts)
        except (pa.ArrowInvalid, ValueError, OverflowError):  # 2024-02-31, or too many digits
            return False
        return True

    return fits


# Kind -> whether distinct texts, none missing, are all of it, and what they become; in order of preference.
KINDS: dict[str, tuple[Callable[[pa.Array], bool], Callable[[pa.Array], pa.Array]]] = {
    "boolean": (lambda texts: bool(pc.all(pc.is_in(texts, value_set=_words(texts))).as_py()), to_booleans),
    "integer": (_all_match(_WHOLE, to_integers), to_integers),
    "number": (_all_match(_NUMBER, to_numbers), to_numbers),
    "date": (_all_match(_DATE, to_dates), to_dates),
    "text": (lambda texts: True, lambda texts: texts),
}
FROM_CSV = tuple(KINDS)
DECLARED = ("date", "text")


@dataclass
class KindWatch:
    """What a column of texts may still be, batch after batch."""

    possible: tuple[str, ...] = FROM_CSV
    seen: bool = False
    missing: bool = False

    def add(self, texts: pa.Array) -> None:
        self.missing |= bool(texts.null_count)
        if len(self.possible) > 1 and texts.null_count < len(texts):
            distinct = texts.drop_null().unique()
            self.possible = tuple(kind for kind in self.possible if KINDS[kind][0](distinct))
            self.seen = True

    @property
    def settled(self) -> bool:
        return self.possible == ("text",)

    @property
    def kind(self) -> str:
        if not self.seen:
            return "text"
        return next(kind for kind in self.possible if kind != "integer" or not self.missing)


def is_text(kind: pa.DataType) -> bool:
    held = kind.value_type if pat.is_dictionary(kind) else kind
    return bool(pat.is_string(held) or pat.is_large_string(held) or pat.is_string_view(held))


def texts_of(array: pa.Array) -> pa.Array:
    """A column of texts in the one form the functions above take."""
    return array.cast(pa.large_string())


def as_exact_numbers(texts: pa.Array) -> pa.Array:
    """The numbers these texts stand for, or the texts where one of them is no plain number.

    Either way each cell is read alike: this is only the quick way, for columns known to hold numbers.
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    if not pc.all(pc.match_substring_regex(trimmed, _NUMBER)).as_py():
        return texts
    try:
        return to_integers(texts)
    except pa.ArrowInvalid:
        numbers = trimmed.cast(pa.float64())
    largest = pc.max(pc.abs(numbers)).as_py()
    return numbers if largest is None or largest < _EXACT else texts
