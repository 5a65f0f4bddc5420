"""Log files: every line is a row, and its text is the only cell."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from itertools import islice

import pyarrow as pa

from maskdiff.io.base import Format
from maskdiff.io.decoding import Utf8
from maskdiff.io.rows import ReadOptions, SkippedLines, only
from maskdiff.io.streams import ByteSource

COLUMN = "line"


class LineRows:
    """The lines of a file, without their ends; blank ones are no rows."""

    schema = pa.schema([(COLUMN, pa.string())])

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.source, self.reading, self.name = source, reading, source.name
        self.skipped = SkippedLines()
        self.n_rows: int | None = None
        source.head()  # refuses what is not there before anything else is done

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        self.skipped = skipped = SkippedLines()
        with Utf8(self.source, self.reading.encoding) as stream:
            lines = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8")
            texts = (line.rstrip("\n") for line in lines if line.strip())
            while part := list(islice(texts, self.reading.rows_at_once)):
                skipped.rows += len(part)
                yield only(pa.RecordBatch.from_arrays([pa.array(part, pa.string())], schema=self.schema), columns)
            skipped.total = stream.line_ends.lines
            skipped.blank = skipped.total - skipped.rows


FORMAT = Format((".log",), LineRows, streams=True, gzips=True)
