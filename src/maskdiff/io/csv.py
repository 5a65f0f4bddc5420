"""CSV and its relatives: every cell as the text that stands there, in and out."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from maskdiff.errors import BadLineError
from maskdiff.io.base import Format, WriteOptions
from maskdiff.io.cell_texts import as_texts, defused
from maskdiff.io.csv_layout import find_layout
from maskdiff.io.csv_no_rows import without_cells
from maskdiff.io.decoding import Decoder, LineEnds, Utf8
from maskdiff.io.rows import ReadOptions, SkippedLines, bad_line, only, rebatched
from maskdiff.io.streams import HEAD, ByteSource

TABBED = (".tsv", ".tab")
_BLOCK = 1 << 23
# How much of a file is looked at for its layout; quotes that do not pair may come late.
_LOOK = 1 << 24


class DelimitedRows:
    """The rows of a CSV file. All cells are texts, empty ones null; nothing else is decided about what they mean."""

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.source, self.reading, self.name = source, reading, source.name
        self.n_rows: int | None = None
        self.skipped = SkippedLines()
        head = source.head(_LOOK)
        text = Decoder(source, reading.encoding).decode(head)
        if len(text) >= HEAD // 4 and not {"\n", "\r"} & set(text[: HEAD // 4]):
            raise BadLineError(f"{self.name}, line 1: longer than any header can be. Is this a CSV file?")
        complete = len(head) < (_LOOK if source.repeatable else HEAD)
        self.layout = find_layout(text, self.name, reading, complete=complete)
        self.delimiter = self.layout.delimiter
        self.schema = pa.schema([(name, pa.string()) for name in self.layout.names])

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        for batch in rebatched(self._blocks(), self.schema, self.reading.batch_rows(len(self.schema))):
            yield only(batch, columns)

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """The rows below the header, as they come."""
        bad: list[pacsv.InvalidRow] = []
        self.skipped = skipped = SkippedLines(comments=self.layout.comments)
        with Utf8(self.source, self.reading.encoding) as stream:
            try:
                # The header is read as a row of cells, so that names may repeat; one of another width is left out.
                skip = int(self.layout.header and not self.layout.unnamed)
                # Closed here: a reader that is left to itself may still be at work when Python ends, and abort it.
                with closing(self._arrow_reader(stream, bad)) as reader:
                    for batch in reader:
                        skipped.in_cells += _line_ends(batch)
                        yield self._data(pa.RecordBatch.from_arrays(batch.columns, schema=self.schema).slice(skip))
                        skip = 0
            except pa.ArrowInvalid as error:
                raise self._bad_line(bad, error) from error
            skipped.total = stream.line_ends.lines
        if bad and not skipped.rows and self.layout.odd_first is not None:
            raise self.layout.odd_first.error(self.name)  # with all lines left out nothing was read
        for row in bad:
            skipped.add(self._described(row, place=self._place(row) if not skipped.lines else ""))
        headers = int(self.layout.header) + skipped.headers
        accounted = skipped.rows + headers + skipped.lines + skipped.in_cells + skipped.comments
        skipped.blank = max(0, skipped.total - accounted)

    def _data(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows among these lines; what is left out is counted."""
        filled = without_cells(rows, [""] * rows.num_columns)
        kept = without_cells(filled, self.layout.names) if self.layout.header else filled
        self.skipped.headers += filled.num_rows - kept.num_rows
        self.skipped.rows += kept.num_rows
        return kept

    def _arrow_reader(self, stream: Utf8, bad: list[pacsv.InvalidRow]) -> Any:
        header_is_read = not self.layout.unnamed

        def handle(row: pacsv.InvalidRow) -> str:
            nonlocal header_is_read
            if not header_is_read:
                header_is_read = True
                return "skip"
            bad.append(row)
            return self.reading.on_bad_lines

        names = [f"f{at}" for at in range(len(self.schema))]
        return pacsv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=pacsv.ReadOptions(
                block_size=_BLOCK, column_names=names, use_threads=False, skip_rows=self.layout.above
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.layout.quote or False,
                newlines_in_values=True,
                invalid_row_handler=handle,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                check_utf8=False,
            ),
        )

    # Bad lines -------------------------------------------------------------------------------------------------------

    def _bad_line(self, bad: list[pacsv.InvalidRow], error: pa.ArrowInvalid) -> BadLineError:
        if bad and self.layout.odd_first is not None:
            return self.layout.odd_first.error(self.name)
        if bad:
            return bad_line(self._described(bad[-1], self._place(bad[-1])))
        if "straddl" in str(error):
            return BadLineError(f"{self.name}: a row is longer than {_BLOCK >> 20} MB. Is a quote never closed?")
        return BadLineError(f"{self.name} cannot be read as CSV: {str(error).splitlines()[0]}.")

    def _described(self, row: pacsv.InvalidRow, place: str) -> str:
        return f"{place}: {row.actual_columns} cells, where the header has {row.expected_columns}"

    def _place(self, row: pacsv.InvalidRow) -> str:
        """The line of the first bad row: cells may hold line ends, so rows are not lines and are read again."""
        if self.source.repeatable:
            with Utf8(self.source, self.reading.encoding) as stream:
                text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", newline="")
                records = self.layout.records(text, self.name)
                for line, cells in islice(records, int(self.layout.header), None):
                    if len(cells) != len(self.schema):
                        return f"{self.name}, line {line}"
        return f"{self.name}, row {row.number}"


def _line_ends(batch: pa.RecordBatch) -> int:
    """How many lines end inside the cells of a batch."""
    ends = LineEnds()
    for column in batch.columns:
        cells = column.buffers()[2]
        if cells is not None:
            ends.add(cells.slice(0, pc.sum(pc.binary_length(column)).as_py() or 0).to_pybytes())
    return ends.ends


class DelimitedWriter:
    """Writes batches as CSV; a cell is quoted only where it has to be."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, *, delimiter: str, safe: bool) -> None:
        self.file, self.delimiter = file, delimiter
        self.before: Callable[[pa.Array], pa.Array] = defused if safe else lambda texts: texts
        self._write([pa.array([name], pa.large_string()) for name in schema.names])

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._write([as_texts(column).fill_null("") for column in batch.columns])

    def _write(self, columns: list[Any]) -> None:
        lines = _joined(self.delimiter, *(self._quoted(self.before(column)) for column in columns))
        # The texts of an arrow array stand one behind the other: with line ends, that is the file.
        ended = _joined("", lines, "\n")
        self.file.write(memoryview(ended.buffers()[2])[: pc.sum(pc.binary_length(ended)).as_py()])

    def _quoted(self, texts: pa.Array) -> pa.Array:
        risky = pc.match_substring_regex(texts, f'[\\n\\r"{re.escape(self.delimiter)}]')
        if not pc.any(risky).as_py():
            return texts
        return pc.if_else(risky, _joined("", '"', pc.replace_substring(texts, '"', '""'), '"'), texts)

    def close(self) -> None:
        """Nothing is held back."""


def _joined(between: str, *parts: Any) -> pa.Array:
    """Texts put together row by row; a plain text stands for a column of it."""
    columns = [pa.scalar(part, pa.large_string()) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*columns, pa.scalar(between, pa.large_string()))


def _writer(file: BinaryIO, schema: pa.Schema, writing: WriteOptions, name: str) -> DelimitedWriter:
    delimiter = "\t" if name.endswith(TABBED) else writing.delimiter or ","
    return DelimitedWriter(file, schema, delimiter=delimiter, safe=writing.safe_for_spreadsheets)


FORMAT = Format(
    (".csv", *TABBED, ".txt"),
    DelimitedRows,
    _writer,
    streams=True,
    gzips=True,
    repeats_names=True,
    formulas=True,
)
