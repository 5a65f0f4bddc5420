"""Categories: texts and everything without a more special type, and booleans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from maskdiff.encoders.table.arrays import is_text
from maskdiff.encoders.table.cells import BOOLEANS
from maskdiff.encoders.table.column_types.base import ColumnType, Key, TextFit
from maskdiff.encoders.table.keys import is_id, is_near_id, near_row_id, nearly_all, repeats

if TYPE_CHECKING:
    from maskdiff.encoders.table.statistics import ColumnStatistics

CSV_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class CategoryType(ColumnType):
    """Every cell by its canonical text."""

    name = "category"
    may_be_key = True

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(is_text(arrow_type) or pat.is_dictionary(arrow_type))

    def refined(self, found: ColumnType) -> ColumnType:
        return self

    def row_id(self, learned: ColumnStatistics) -> str | None:
        if is_id(learned.key):
            return f"a row id: {nearly_all(learned.key)} its values are different"
        return near_row_id(learned.key) if self.is_near_id(learned) and not repeats(learned.key) else None

    def is_near_id(self, learned: ColumnStatistics) -> bool:
        return is_near_id(learned.key)

    def text_fit(self) -> TextFit | None:
        return None  # what any text is where it is nothing else

    def from_texts(self, texts: pa.Array) -> pa.Array:
        return texts


class BooleanType(ColumnType):
    """False and True, however they are written."""

    name = "boolean"
    general = "category"
    python_types = (bool, np.bool_)

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_boolean(arrow_type))

    def fits_texts(self, texts: pa.Array) -> bool:
        return bool(pc.all(pc.is_in(texts, value_set=pa.array(list(CSV_BOOLEANS), texts.type))).as_py())

    def from_texts(self, texts: pa.Array) -> pa.Array:
        place = pc.index_in(texts, value_set=pa.array(list(CSV_BOOLEANS), texts.type))
        return pa.array(list(CSV_BOOLEANS.values())).take(place)

    def key(self, text: str) -> Key | None:
        return BOOLEANS.get(text, text)
