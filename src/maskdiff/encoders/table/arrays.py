"""Arrow arrays: their cells as ticks, numbers and canonical texts, and texts that declare their column type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from maskdiff.codes import FloatArray
from maskdiff.encoders.table.cells import cell_text, duration_text, moment_text, time_text

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
DAY = 86_400 * MICROSECONDS["s"]
# The text of a tick, by the arrow type that counted it.
TICK_TEXTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[int], str]], ...] = (
    (pat.is_date, moment_text),
    (pat.is_timestamp, moment_text),
    (pat.is_time, time_text),
    (pat.is_duration, duration_text),
)


class DeclaredTexts(pa.ExtensionType):  # type: ignore[misc]
    """Texts that say of which column type they are; for column types that arrow has no type for."""

    def __init__(self, column_type: str) -> None:
        self.column_type = column_type
        super().__init__(pa.large_string(), "maskdiff.column_type")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.column_type.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> DeclaredTexts:
        return cls(serialized.decode())


def declared(texts: pa.Array, column_type: str) -> pa.Array:
    """These texts as cells of this column type."""
    return pa.ExtensionArray.from_storage(DeclaredTexts(column_type), texts.cast(pa.large_string()))


def is_text(arrow_type: pa.DataType) -> bool:
    """Whether an array of this type, in the plain form of `columns.plain`, holds texts."""
    return bool(pat.is_large_string(arrow_type))


def canonical_texts(values: pa.Array) -> list[str]:
    """The canonical text of each value, none of them null."""
    tick_text = next((text for fits, text in TICK_TEXTS if fits(values.type)), None)
    if tick_text is not None:
        return [tick_text(at) for at in ticks(values).tolist()]
    plain: list[Any] = values.to_pylist()
    return plain if is_text(values.type) else [cell_text(value) for value in plain]


def text_hashes(texts: list[str]) -> NDArray[np.int64]:
    """64 bits for each text, the same in every process."""
    from pandas.util import hash_array

    hashes: NDArray[np.int64] = hash_array(np.array(texts, dtype=object), categorize=False).view(np.int64)
    return hashes


def ticks(values: pa.Array) -> NDArray[np.int64]:
    """Microseconds, zero where null; finer units are cut off, what does not fit is held at the ends."""
    arrow_type = values.type
    whole = values.view(pa.int32() if arrow_type.bit_width == 32 else pa.int64()).fill_null(0)
    counts: NDArray[np.int64] = whole.to_numpy(zero_copy_only=False).astype(np.int64)
    unit = getattr(arrow_type, "unit", "ms")  # date64 counts milliseconds
    if unit == "ns":
        return counts // 1000
    factor = DAY if pat.is_date32(arrow_type) else MICROSECONDS[unit]
    limit = np.iinfo(np.int64).max // factor
    return counts.clip(-limit, limit) * factor


def floats(array: pa.Array) -> FloatArray:
    """The numbers of an array of floats, NaN where null."""
    numbers: FloatArray = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    return numbers
