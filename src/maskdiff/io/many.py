"""Several files with the same columns as one table, one behind the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from maskdiff.errors import UnknownColumnError
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.rows import RowFile, SkippedLines, only


class ManyRows:
    """The rows of several files. Columns are found by name; where their types differ, the column holds texts."""

    def __init__(self, files: Sequence[RowFile], name: str) -> None:
        self.files, self.name, self.reading = files, name, files[0].reading
        for file in files[1:]:
            _check_columns(files[0], file)
        self.schema = pa.schema([pa.field(one, _type(files, one)) for one in files[0].schema.names])
        counts = [file.n_rows for file in files]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)

    @property
    def skipped(self) -> SkippedLines:
        """Those of all files."""
        found = SkippedLines()
        for part in (file.skipped for file in self.files):
            found.first = found.first or part.first
            found.total = None if part.total is None else (found.total or 0) + part.total
            for name in ("lines", "rows", "in_cells", "blank", "comments", "headers"):
                setattr(found, name, getattr(found, name) + getattr(part, name))
        return found

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        for file in self.files:
            places = [file.schema.names.index(name) for name in self.schema.names]
            for batch in file.batches():
                arrays = [_as(batch.column(at), field.type) for at, field in zip(places, self.schema, strict=True)]
                yield only(pa.RecordBatch.from_arrays(arrays, schema=self.schema), columns)


def _check_columns(first: RowFile, other: RowFile) -> None:
    wanted, got = first.schema.names, other.schema.names
    if len(set(wanted)) < len(wanted) or sorted(wanted) != sorted(got):
        missing = ", ".join(map(repr, sorted(set(wanted) ^ set(got)))) or "a name comes twice"
        raise UnknownColumnError(
            f"files that are read as one table need the same columns; {other.name} and {first.name} differ in: "
            f"{missing}."
        )


def _type(files: Sequence[RowFile], name: str) -> pa.DataType:
    types = {file.schema.field(name).type for file in files} - {pa.null()}
    if types == {pa.int64(), pa.float64()}:
        return pa.float64()
    return types.pop() if len(types) == 1 else pa.string() if types else pa.null()


def _as(column: pa.Array, data_type: pa.DataType) -> pa.Array:
    if column.type == data_type:
        return column
    return as_texts(column).cast(data_type) if data_type == pa.string() else column.cast(data_type)
