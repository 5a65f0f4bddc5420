"""Tables in files: CSV, Parquet, JSON Lines and Arrow, read and written in batches.

    with open_rows("claims.csv.gz") as rows, open_writer("copy.parquet", rows.schema) as write:
        for batch in rows.batches():
            write(batch)

    score_file(detector, "new.parquet", "scored.csv", Asked(explain=3))

The format follows from the name; "-" is a standard stream. What the cells of a CSV file stand for is said in `kinds`.
"""

from maskdiff.files.formats import Writing, format_of, open_rows, open_writer
from maskdiff.files.items import ModelItems, NormalItems
from maskdiff.files.model import JudgedRows, rows_for
from maskdiff.files.rows import Reading, RowFile, Skipped
from maskdiff.files.scoring import Asked, Tally, score_file
from maskdiff.files.streams import check_folder, whole_file
from maskdiff.files.tables import ModelRows, NormalRows, read_table

__all__ = [
    "Asked",
    "JudgedRows",
    "ModelItems",
    "ModelRows",
    "NormalItems",
    "NormalRows",
    "Reading",
    "RowFile",
    "Skipped",
    "Tally",
    "Writing",
    "check_folder",
    "format_of",
    "open_rows",
    "open_writer",
    "read_table",
    "rows_for",
    "score_file",
    "whole_file",
]
