"""Small files, written and read back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from maskdiff.io import ReadOptions, WriteOptions, open_rows, open_writer
from maskdiff.io.rows import as_batch
from maskdiff.jobs import read_table


def texts(path: Path | str, **how: object) -> pa.Table:
    """All rows as they stand in the file."""
    with open_rows(str(path), ReadOptions(**how)) as rows:
        return pa.Table.from_batches(list(rows.batches()), rows.schema)


def typed(path: Path | str, **how: object) -> pa.Table:
    with open_rows(str(path), ReadOptions(**how)) as rows:
        return read_table(rows)


def write(path: Path, table: pa.Table, **how: object) -> None:
    with open_writer(str(path), table.schema, WriteOptions(**how)) as put:
        put(as_batch(table))


def csv_file(folder: Path, content: str | bytes, name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
