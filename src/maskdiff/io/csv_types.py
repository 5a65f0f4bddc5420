"""The column types of texts, decided over all rows of a column and never over the first few.

| every cell that is not missing | column type | as in pandas.read_csv |
|---|---|---|
| true, True, TRUE, false, False, FALSE | boolean | yes |
| a whole number, and no cell is missing | integer | yes |
| a number | number | yes |
| a date or date and time, in a format of `column_types.date_formats` | date | no: there it stays text |
| anything else | category | yes |

CSV has no types, so the types of all its columns are decided this way: each column type says which texts are its own.
Other formats declare types; there only texts that no declared type could hold, such as dates, are looked at. An empty
cell of a CSV file is missing, as are NA, NaN, null and the other texts of `MISSING`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.table.column_types import CATEGORY, ColumnType, most_special_first

# The texts pandas.read_csv takes for missing.
MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)


def without_missing(texts: pa.Array) -> pa.Array:
    """Null where a cell of a CSV file is missing."""
    missing = pc.is_in(texts, value_set=pa.array(MISSING, texts.type))
    return pc.if_else(missing, pa.scalar(None, texts.type), texts)


def candidates(name: str, *, declared: bool) -> tuple[ColumnType, ...]:
    """The types a column of texts may have, the most special first; `declared`: in a file that declares types."""
    fitting = (one for one in most_special_first() if one.fits_name(name))
    return tuple(one for one in fitting if one.in_declared_texts or not declared)


@dataclass
class TextTypes:
    """The types a column of texts may still have, batch after batch; categories always stay possible."""

    possible: tuple[ColumnType, ...]
    seen: bool = False
    missing: bool = False

    def add(self, texts: pa.Array) -> None:
        """One more batch of cells, null where missing."""
        self.missing |= bool(texts.null_count)
        if not self.settled and texts.null_count < len(texts):
            distinct = texts.drop_null().unique()
            self.possible = tuple(one for one in self.possible if one.fits_csv(distinct))
            self.seen = True

    @property
    def settled(self) -> bool:
        """Whether no further batch can change the answer."""
        return self.possible == (CATEGORY,)

    @property
    def fitting(self) -> tuple[ColumnType, ...]:
        """The types that all batches fit, the most special first."""
        if not self.seen:
            return (CATEGORY,)
        return tuple(one for one in self.possible if one.csv_missing or not self.missing)


def is_text(arrow_type: pa.DataType) -> bool:
    """Whether a column of this arrow type holds texts."""
    values = arrow_type.value_type if pat.is_dictionary(arrow_type) else arrow_type
    return bool(pat.is_string(values) or pat.is_large_string(values) or pat.is_string_view(values))


def texts_of(array: pa.Array) -> pa.Array:
    """A column of texts in the one form that column types take."""
    return array.cast(pa.large_string())
