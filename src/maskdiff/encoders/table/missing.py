"""What stands for a missing value in a column of texts: one list, for files of every format and tables in memory.

A cell is missing if it is empty or blank, or if one of these texts is all it holds, blanks around it aside. A column of
declared categories (pandas' and polars' categorical types, a dictionary in Parquet) holds what it declares: there, and
in numbers and dates, only null, NaN, NA and NaT are missing. `also` are further texts that the user names; they hold
for declared numbers too, so that -999 means the same in every format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.table.arrays import is_text
from maskdiff.encoders.table.cells import parse_number
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    from maskdiff.encoders.table.columns import Column

# Those of pandas.read_csv, and some more that databases and spreadsheets write. "none" and "na" are not among them:
# they are values as often as not.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null", "Null", "NAN", "NaT", "n.a.", "N.A.", "(null)", "\\N"),
)


@dataclass(frozen=True)
class MissingTexts:
    """The texts that mean a missing value: those of `MISSING`, and those the user names besides."""

    also: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Sequence[str] | None) -> MissingTexts:
        """As a setting gives them.

        >>> MissingTexts.of([" ? ", "-"]).also
        ('?', '-')
        """
        if isinstance(given, str) or not all(isinstance(text, str) for text in given or ()):
            raise SettingError(f'missing must be a list of texts, such as ["?", "-"]; got {given!r}.')
        return cls(tuple(text.strip() for text in given or ()))

    def applied(self, column: Column) -> Column:
        """The column with nulls where a cell is missing."""
        arrow_type = column.array.type
        if is_text(arrow_type):
            return replace(column, array=self.without(column.array))
        numbers = [number for text in self.also if (number := parse_number(text)) is not None]
        if numbers and (pat.is_integer(arrow_type) or pat.is_floating(arrow_type)):
            return replace(
                column,
                array=_without(
                    column.array,
                    pc.is_in(column.array.cast(pa.float64(), safe=False), value_set=pa.array(numbers, pa.float64())),
                ),
            )
        return column

    def without(self, texts: pa.Array) -> pa.Array:
        """Null where a text means a missing value."""
        return _without(texts, pc.is_in(pc.ascii_trim_whitespace(texts), value_set=self._values.cast(texts.type)))

    @cached_property
    def _values(self) -> pa.Array:
        return pa.array((*MISSING, *self.also), pa.large_string())


def _without(array: pa.Array, missing: pa.Array) -> pa.Array:
    return pc.if_else(missing, pa.scalar(None, array.type), array) if pc.any(missing).as_py() else array
