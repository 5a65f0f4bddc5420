"""The rows of a file as a fitted detector reads them, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.table import ModelTableRows
from maskdiff.jobs.rows.tokens import ModelTokenRows

if TYPE_CHECKING:
    from maskdiff.detectors import Detector


class ModelRows(Protocol):
    """The rows of a file to be judged by a model; `ignored` are columns it never saw."""

    rows: RowFile
    ignored: list[str]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of the file, in parts that can be judged at once."""

    def shown(self, batch: pa.RecordBatch) -> pa.Table:
        """The cells as they stand in the file, for showing them."""

    def read(self, batch: pa.RecordBatch, first: int = 1) -> Any:
        """The cells as the model's encoder takes them; the first row has this number in the file."""


# What rows are made of -> how they are taken out of a file.
_READERS: dict[str, Callable[[RowFile, Any], ModelRows]] = {
    "columns": ModelTableRows,
    "symbols": ModelTokenRows,
    "tokens": ModelTokenRows,
}


def rows_for(rows: RowFile, detector: Detector) -> ModelRows:
    """The rows of a file for this detector."""
    return _READERS[detector.encoder_.parts](rows, detector.encoder_)
