"""Tables in files: CSV, Parquet, JSON Lines and Arrow, read and written in batches.

    with open_rows("claims.csv.gz") as rows, open_writer("copy.parquet", rows.schema) as write:
        for batch in rows.batches():
            write(batch)

The format follows from the name; "-" is a standard stream. What texts stand for is decided elsewhere, the same way for
all formats: `maskdiff.encoders.table.recognition`.
"""

from maskdiff.io.atomic import atomic_write, check_folder
from maskdiff.io.base import Format, WriteOptions
from maskdiff.io.formats import FORMATS, format_of, open_rows, open_writer
from maskdiff.io.outputs import FileContent, check_output
from maskdiff.io.rows import BatchRows, ReadOptions, RowFile, SkippedLines
from maskdiff.io.streams import open_output

__all__ = [
    "FORMATS",
    "BatchRows",
    "FileContent",
    "Format",
    "ReadOptions",
    "RowFile",
    "SkippedLines",
    "WriteOptions",
    "atomic_write",
    "check_folder",
    "check_output",
    "format_of",
    "open_output",
    "open_rows",
    "open_writer",
]
