"""NumberFit: whether the texts of a column are numbers, and how they are written, found batch after batch.

Six writings are tried, each of the decimal signs with each of the signs that may stand between groups of digits, until
a text contradicts them. Where both decimal signs are still possible, because 1,234 or 1.234 is all there is, the
decimal sign is the one that was set, or else the one that other columns of the table leave no doubt about, or else the
point.

Numbers that hardly repeat stay numbers where a few of them are damaged: as categories they would say nothing, and
12x5 would be one of many rare values.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskdiff.encoders.table.column_types.base import Found, TextFit
from maskdiff.encoders.table.marks import (
    MOST_DAMAGED,
    MOST_DAMAGED_ROWS,
    MOST_MARKS,
    are_few,
    look_damaged,
)
from maskdiff.encoders.table.number_format import (
    CODE,
    DIGIT,
    PLAIN,
    SIGNS,
    WHOLE,
    NumberFormat,
    between_groups,
    joined,
    matches_all,
    parts_of,
    plain_writing,
)

if TYPE_CHECKING:
    from maskdiff.encoders.table.column_types.numbers import NumberType

WRITINGS = ((".", ","), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'"))
# Beside fewer different whole numbers than this, marks are categories like the numbers themselves.
FEWEST_BESIDE_MARKS = 20
# Numbers hardly repeat where so many are different, or where there are fewer rows than this for each.
_MANY, _ROWS_PER_NUMBER = 1000, 5
# A slip may begin a number with a zero. Where more rows or texts do, the column holds codes.
_MOST_CODES, _MOST_CODED_ROWS = 20, 0.005
# So many texts hold that many numbers, whatever else is among them.
_ENOUGH = _MANY + MOST_MARKS + MOST_DAMAGED + _MOST_CODES
# So many texts are enough to see that a column holds no numbers.
_FIRST_LOOK = MOST_DAMAGED + 100


class Writing:
    """One way to write numbers, as long as no more than a few texts contradict it."""

    def __init__(self, decimal: str, thousands: str) -> None:
        self.decimal, self.thousands = decimal, thousands
        self.marks: Counter[str] = Counter()
        self.damaged: Counter[str] = Counter()
        self.affixes: set[str] = set()
        self.grouped = self.has_fractions = False
        self.example: str | None = None

    @property
    def possible(self) -> bool:
        return len(self.marks) <= MOST_MARKS and len(self.damaged) <= MOST_DAMAGED and len(self.affixes) <= 1

    @property
    def unread(self) -> Counter[str]:
        """The texts that are no numbers, and how many rows hold each."""
        return self.marks + self.damaged

    def add(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        """Distinct texts without blanks around them, and how many rows hold each."""
        if len(texts) > 2 * _FIRST_LOOK:
            self._read(texts[:_FIRST_LOOK], np.zeros(_FIRST_LOOK, np.int64))
        if self.possible:
            self._read(texts, counts)

    def _read(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        parts = parts_of(texts, self.decimal, self.thousands)
        written = plain_writing(parts, self.decimal, self.thousands)
        fits = written.is_valid().to_numpy(zero_copy_only=False)
        self.mark(texts.filter(pa.array(~fits)), counts[~fits])
        affix = joined(pc.struct_field(parts, "before"), pc.struct_field(parts, "after"))
        self.affixes |= {text for text in affix.unique().to_pylist() if text}
        self.has_fractions |= not matches_all(written, WHOLE)
        grouped = pc.match_substring_regex(pc.struct_field(parts, "digits"), between_groups(self.thousands))
        self.grouped |= bool(pc.any(grouped).as_py())
        if self.example is None:
            unlike = pc.fill_null(pc.not_equal(written, pc.utf8_ltrim(texts, "+")), False)
            self.example = next(iter(texts.filter(unlike)[:1].to_pylist()), None)

    def mark(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        """Distinct texts that are no numbers."""
        slips = look_damaged(texts).to_numpy(zero_copy_only=False)
        _count(self.damaged, texts.filter(pa.array(slips))[: MOST_DAMAGED + 1], counts[slips])
        _count(self.marks, texts.filter(pa.array(~slips))[: MOST_MARKS + 1], counts[~slips])

    def merge(self, other: Writing) -> None:
        # Not +=, which drops the texts of a first look, that no row was counted for yet.
        self.marks.update(other.marks)
        self.damaged.update(other.damaged)
        self.affixes |= other.affixes
        self.grouped |= other.grouped
        self.has_fractions |= other.has_fractions
        self.example = self.example or other.example

    @property
    def format(self) -> NumberFormat:
        affix = next(iter(self.affixes), "")
        thousands = self.thousands if self.grouped else ""
        return NumberFormat(self.decimal, thousands, affix if affix != "%" else "", affix == "%")


class NumberFit(TextFit):
    """The writings that are still possible for a column of texts."""

    column_type: NumberType

    def __init__(self, column_type: NumberType) -> None:
        super().__init__(column_type)
        self.writings = [Writing(*signs) for signs in WRITINGS]
        self.huge = self.has_points = False
        self.some: set[str] = set()
        self.codes: Counter[str] = Counter()

    def add(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        self.rows += int(counts.sum())
        texts = pc.ascii_trim_whitespace(texts)
        self.some.update(texts[:_ENOUGH].to_pylist() if len(self.some) < _ENOUGH else ())
        if pc.any(is_code := pc.match_substring_regex(texts, CODE)).as_py():
            coded = is_code.to_numpy(zero_copy_only=False)  # 01234: a zip code, an article number, a telephone number
            _count(self.codes, texts.filter(is_code)[: _MOST_CODES + 1], counts[coded])
            texts, counts = texts.filter(pc.invert(is_code)), counts[~coded]
        if matches_all(texts, WHOLE):  # written so in every way
            self.huge |= not _fits_integers(texts)
        elif matches_all(texts, PLAIN):
            self.has_points = True
            self._try([one for one in self.writings if one.decimal != "."], texts, counts)
        elif not pc.any(pc.match_substring_regex(texts, DIGIT)).as_py():  # no number in any writing
            for one in self.writings:
                one.mark(texts, counts)
        else:
            self._try(self.writings, texts, counts)
        self._leave_out()

    def _leave_out(self) -> None:
        """Keep the writings that are possible."""
        few = len(self.codes) <= _MOST_CODES
        self.writings = [one for one in self.writings if few and one.possible]
        self.alive = bool(self.writings)

    def _try(self, writings: list[Writing], texts: pa.Array, counts: NDArray[np.int64]) -> None:
        for one in writings:
            one.add(texts, counts)

    def merge(self, other: TextFit) -> None:
        assert isinstance(other, NumberFit)
        self.rows += other.rows
        self.huge |= other.huge
        self.some |= other.some
        self.has_points |= other.has_points
        others = {(one.decimal, one.thousands): one for one in other.writings}
        self.writings = [one for one in self.writings if (one.decimal, one.thousands) in others]
        for one in self.writings:
            one.merge(others[one.decimal, one.thousands])
        self.codes.update(other.codes)
        self._leave_out()

    # The answer ------------------------------------------------------------------------------------------------------

    @property
    def _best(self) -> list[Writing]:
        """The writings that leave the fewest rows unread."""
        fitting = [one for one in self.writings if self._marks(one) is not None]
        fewest = min((one.unread.total() for one in fitting), default=0)
        return [one for one in fitting if one.unread.total() == fewest]

    def _marks(self, one: Writing) -> tuple[str, ...] | None:
        """The texts that are values of their own beside the numbers; None if so many texts are none."""
        if not one.unread and not self.codes:
            return ()
        n_numbers = len(self.some) - len(one.unread) - len(self.codes)
        if not (one.has_fractions or self.has_points or n_numbers >= FEWEST_BESIDE_MARKS):
            return None
        if not self.codes and are_few(one.unread, self.rows):
            return tuple(sorted(one.unread))
        n_damaged, n_codes = one.damaged.total() + self.codes.total(), self.codes.total()
        few = n_damaged <= MOST_DAMAGED_ROWS * self.rows and n_codes <= _MOST_CODED_ROWS * self.rows
        hardly_repeat = n_numbers >= min(_MANY, self.rows / _ROWS_PER_NUMBER)
        return tuple(sorted(one.marks)) if few and hardly_repeat and are_few(one.marks, self.rows) else None

    @property
    def proven_decimal(self) -> str | None:
        """The decimal sign, where the texts leave no doubt."""
        signs = {one.decimal for one in self._best}
        return signs.pop() if len(signs) == 1 else None

    def found(self, decimal: str | None) -> Found | None:
        best = self._best
        if not best:
            return None
        possible = {one.decimal for one in best}
        wanted = decimal if decimal in possible else "." if "." in possible else ","
        chosen = [one for one in best if one.decimal == wanted]
        # Where no text has a sign between groups of digits, none is needed; where one has, only its writing can group.
        writing = next((one for one in chosen if one.grouped), chosen[0])
        points = self.has_points and wanted == "."
        whole = not (writing.has_fractions or points or self.huge)
        column_type = self.column_type.written(writing.format, whole, writing.example)
        doubt = self._doubt(best, writing) if decimal is None else None
        marks = self._marks(writing) or ()
        damaged = {text: count for text, count in writing.unread.items() if text not in marks}
        counted = f"{sum(damaged.values()):,}, such as {min(damaged)}" if damaged else None
        return Found(column_type, doubt, marks, setting="decimal", damaged=counted)

    def _doubt(self, best: list[Writing], writing: Writing) -> str | None:
        """Which texts could have been read otherwise, and how, None where there are none."""
        others = [one for one in best if one.decimal != writing.decimal]
        text = next((one.example for one in best if one.grouped and one.thousands in SIGNS), None)
        if not others or text is None:
            return None
        other = next((one for one in others if one.grouped), others[0])
        ours, theirs = _shown(writing, text), _shown(other, text)
        return f'{text} was read as {ours}, but may be {theirs}; set decimal="{other.decimal}" if it is'


def _count(seen: Counter[str], texts: pa.Array, counts: NDArray[np.int64]) -> None:
    """Add the rows that hold these distinct texts; there may be more counts than texts."""
    for text, count in zip(texts.to_pylist(), counts.tolist(), strict=False):
        seen[text] += count


def _shown(writing: Writing, text: str) -> str:
    return str(writing.format.canonical(pa.array([text], pa.large_string()))[0].as_py())


def _fits_integers(texts: pa.Array) -> bool:
    try:
        pc.replace_substring_regex(texts, r"^\+", "").cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True
