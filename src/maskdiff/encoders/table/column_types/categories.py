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

if TYPE_CHECKING:
    from maskdiff.encoders.table.statistics import ColumnStatistics

# With fewer rows than this, values that all differ do not make a row id.
FEWEST_IDS = 20
CSV_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class CategoryType(ColumnType):
    """Every cell by its canonical text."""

    name = "category"

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(is_text(arrow_type) or pat.is_dictionary(arrow_type))

    def refined(self, found: ColumnType) -> ColumnType:
        return self

    def row_id(self, learned: ColumnStatistics) -> str | None:
        all_differ = learned.n_categories == learned.present >= FEWEST_IDS
        return "a row id: all its values are different" if all_differ else None

    def text_fit(self) -> TextFit | None:
        return None  # what any text is where it is nothing else

    def from_csv(self, texts: pa.Array) -> pa.Array:
        return texts


class BooleanType(ColumnType):
    """False and True, however they are written."""

    name = "boolean"
    general = "category"
    python_types = (bool, np.bool_)

    def is_arrow(self, arrow_type: pa.DataType) -> bool:
        return bool(pat.is_boolean(arrow_type))

    def fits_csv(self, texts: pa.Array) -> bool:
        return bool(pc.all(pc.is_in(texts, value_set=pa.array(list(CSV_BOOLEANS), texts.type))).as_py())

    def from_csv(self, texts: pa.Array) -> pa.Array:
        place = pc.index_in(texts, value_set=pa.array(list(CSV_BOOLEANS), texts.type))
        return pa.array(list(CSV_BOOLEANS.values())).take(place)

    def key(self, text: str) -> Key | None:
        return BOOLEANS.get(text, text)
