"""Tables in files: CSV, Parquet, JSON Lines and Arrow, read and written in batches.

    with open_rows("claims.csv.gz") as rows, open_writer("copy.parquet", rows.schema) as write:
        for batch in rows.batches():
            write(batch)

The format follows from the name; "-" is a standard stream. What the cells of a CSV file stand for is said in
`csv_types`.
"""

from maskdiff.io.atomic import check_folder
from maskdiff.io.formats import WriteOptions, format_of, open_rows, open_writer
from maskdiff.io.rows import ReadOptions, RowFile, SkippedLines
from maskdiff.io.streams import open_output

__all__ = [
    "ReadOptions",
    "RowFile",
    "SkippedLines",
    "WriteOptions",
    "check_folder",
    "format_of",
    "open_rows",
    "open_writer",
    "open_output",
]
