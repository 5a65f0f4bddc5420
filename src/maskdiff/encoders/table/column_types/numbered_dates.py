"""Dates that are written as numbers: 20240925, and seconds or milliseconds since 1970.

Texts and numbers of a declared type are recognised by the same rule, so that a file gives the same answer in every
format: nearly all cells have to be such dates, and of moments since 1970 the name of the column has to say that it
holds moments, for many amounts and ids are as large. The few other cells, 0 for one, are marks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.arrays import canonical_texts
from maskdiff.encoders.table.cells import moment_text
from maskdiff.encoders.table.column_types.base import Found, Key, TextFit, escaped
from maskdiff.encoders.table.column_types.date_formats import COMPACT, MILLISECONDS, SECONDS, DateFormat
from maskdiff.encoders.table.column_types.dates import FormattedDateType
from maskdiff.encoders.table.marks import MOST_MARKED, MOST_MARKS, is_usual

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

# Names of columns whose large integers are moments: created_at, startTime, ts, "event date".
MOMENT_NAME = (
    r"(?i:^|[^a-z])(?i:ts|at|on|time|date|datetime|timestamp|epoch|unix|when)(?i:$|[^a-z])|[a-z](?:At|Time|Date)$"
)
_MOST_TICKS = 2.0**62


class NumberedDateType(FormattedDateType):
    """Dates written as numbers. `meaning` says of what, `most_others` is the largest share of cells that are none.

    `moment_name` is what the name of a column has to match, `factor` the ticks of one of its numbers, None where they
    are not counted.
    """

    reads_numbers = True

    def __init__(
        self,
        name: str,
        own: DateFormat,
        meaning: str,
        *,
        most_others: float,
        moment_name: str | None = None,
        factor: int | None = None,
    ) -> None:
        super().__init__(name, own)
        self.formats = (own,)
        self.meaning, self.most_others, self.moment_name, self.factor = meaning, most_others, moment_name, factor

    def fits_name(self, name: str) -> bool:
        return self.moment_name is None or re.search(self.moment_name, name) is not None

    def text_fit(self) -> TextFit | None:
        return NumberedDateFit(self)

    def keys(self, column: Column, values: pa.Array) -> Sequence[Key | None]:
        if is_number(values.type):
            return [self.key(text) for text in canonical_texts(values)]
        return super().keys(column, values)

    def numbers(self, column: Column) -> FloatArray:
        if self.factor is None or not pat.is_integer(column.array.type):
            return super().numbers(column)
        counts = column.array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        moments: FloatArray = counts * self.factor
        return np.where(np.abs(moments) < _MOST_TICKS, moments, np.nan)

    def display(self, column: Column) -> list[str]:
        """Moments as dates, for nobody reads 1727222400; 20240925 as it is."""
        if self.factor is None:
            return super().display(column)
        values, index = column.distinct()
        shown = zip(canonical_texts(values), self.keys(column, values), strict=True)
        texts = [escaped(text) if key is None or text in self.marks else moment_text(int(key)) for text, key in shown]
        texts.append("missing")
        return [texts[place] for place in index.tolist()]


class NumberedDateFit(TextFit):
    """Whether nearly all cells of a column are dates of such a type."""

    column_type: NumberedDateType

    def __init__(self, column_type: NumberedDateType) -> None:
        super().__init__(column_type)
        self.example: str | None = None

    def add(self, texts: pa.Array, counts: NDArray[np.int64]) -> None:
        self.rows += int(counts.sum())
        trimmed = pc.utf8_trim_whitespace(texts)
        looks = pc.match_substring_regex(trimmed, self.column_type.own.pattern).to_numpy(zero_copy_only=False)
        if (~looks).sum() > MOST_MARKS:
            self.alive = False
            return
        others = Counter(self._others(trimmed, looks, counts))
        self._include(others, pc.min(trimmed.filter(pa.array(looks))).as_py())

    def _others(self, texts: pa.Array, looks: NDArray[np.bool_], counts: NDArray[np.int64]) -> dict[str, int]:
        """The texts that are no dates, with their number of rows."""
        rows = counts.tolist()
        if self.column_type.factor is None:  # the 31st of February looks like a day
            ticks = self.column_type.own.ticks
            known = (ticks(text) is not None for text in texts.to_pylist())
            looks = looks & np.fromiter(known, np.bool_, len(texts))
        return {texts[at].as_py(): rows[at] for at in np.flatnonzero(~looks)[: MOST_MARKS + 1].tolist()}

    def merge(self, other: TextFit) -> None:
        assert isinstance(other, NumberedDateFit)
        self.rows += other.rows
        self.alive &= other.alive
        self._include(other.marks, other.example)

    def _include(self, others: Counter[str], example: str | None) -> None:
        self.marks += others
        self.alive &= len(self.marks) <= MOST_MARKS
        self.example = min((one for one in (self.example, example) if one is not None), default=None)

    def found(self, decimal: str | None) -> Found | None:
        unusual = sum(count for text, count in self.marks.items() if not is_usual(text))
        if self.marks.total() > MOST_MARKED * self.rows or unusual > self.column_type.most_others * self.rows:
            return None
        return (
            None
            if self.example is None
            else Found(self.column_type, self._notice(self.example), tuple(sorted(self.marks)), setting="columns")
        )

    def _notice(self, example: str) -> str:
        day = moment_text(self.column_type.own.ticks(example) or 0)
        return (
            f"its numbers were read as dates, {self.column_type.meaning}: {example} is {day}. To read them as numbers, "
            'say so: columns={name: "number"}'
        )


def is_number(arrow_type: pa.DataType) -> bool:
    """Whether an array of this type, in the plain form of `columns.plain`, holds numbers."""
    return bool(pat.is_integer(arrow_type) or pat.is_floating(arrow_type) or pat.is_decimal(arrow_type))


def _moments(name: str, own: DateFormat, factor: int) -> NumberedDateType:
    meaning = f"in {own.name.removeprefix('epoch ')} since 1970"
    return NumberedDateType(name, own, meaning, most_others=0.1, moment_name=MOMENT_NAME, factor=factor)


NUMBERED = (
    _moments("epoch_seconds", SECONDS, 1_000_000),
    _moments("epoch_milliseconds", MILLISECONDS, 1_000),
    NumberedDateType("compact_date", COMPACT, "written yyyymmdd", most_others=0.01),
)
