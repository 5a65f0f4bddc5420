"""CSV and its relatives: every cell as the text that stands there, in and out."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from maskdiff.errors import BadLineError, EmptyTableError
from maskdiff.io.base import Format, WriteOptions
from maskdiff.io.cell_texts import as_texts, defused
from maskdiff.io.rows import ReadOptions, SkippedLines, bad_line, only, rebatched
from maskdiff.io.streams import HEAD, ByteSource, Decoder, Utf8

DELIMITERS = (",", ";", "\t", "|")
TABBED = (".tsv", ".tab")
_BLOCK = 1 << 23
_ROWS_TO_LOOK_AT = 20


class DelimitedRows:
    """The rows of a CSV file. All cells are texts, empty ones null; nothing else is decided about what they mean."""

    declares_types = False

    def __init__(self, source: ByteSource, reading: ReadOptions) -> None:
        self.source, self.reading, self.name = source, reading, source.name
        self.n_rows: int | None = None
        self.skipped = SkippedLines()
        text = Decoder(source, reading.encoding).decode(source.head())
        self.delimiter = reading.delimiter or sniffed(text, reading.quote)
        self.schema = pa.schema([(name, pa.string()) for name in self._header(text)])

    def _header(self, text: str) -> list[str]:
        if len(text) >= HEAD // 4 and not {"\n", "\r"} & set(text):
            raise BadLineError(f"{self.name}, line 1: longer than any header can be. Is this a CSV file?")
        names = next((row for _, row in self._records(io.StringIO(text, newline=""))), None)
        if names is None:
            raise EmptyTableError(f"{self.name} is empty: there is not even a line with the names of the columns.")
        return names

    def batches(self, columns: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        for batch in rebatched(self._blocks(), self.schema, self.reading.batch_rows(len(self.schema))):
            yield only(batch, columns)

    def _blocks(self) -> Iterator[pa.RecordBatch]:
        """The rows below the header, as they come."""
        bad: list[pacsv.InvalidRow] = []
        self.skipped = SkippedLines()
        with Utf8(self.source, self.reading.encoding) as stream:
            try:
                skip = 1  # the header was read as a row of cells, so that names may repeat
                # Closed here: a reader that is left to itself may still be at work when Python ends, and abort it.
                with closing(self._arrow_reader(stream, bad)) as reader:
                    for batch in reader:
                        rows = pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
                        yield rows.slice(skip)
                        skip = 0
            except pa.ArrowInvalid as error:
                raise self._bad_line(bad, error) from error
        for row in bad:
            self.skipped.add(self._described(row, place=self._place(row) if not self.skipped.lines else ""))

    def _arrow_reader(self, stream: Utf8, bad: list[pacsv.InvalidRow]) -> Any:
        def handle(row: pacsv.InvalidRow) -> str:
            bad.append(row)
            return self.reading.on_bad_lines

        names = [f"f{at}" for at in range(len(self.schema))]
        return pacsv.open_csv(
            pa.PythonFile(stream, mode="r"),
            read_options=pacsv.ReadOptions(block_size=_BLOCK, column_names=names, use_threads=False),
            parse_options=pacsv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.reading.quote,
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
                for line, cells in self._records(text):
                    if len(cells) != len(self.schema):
                        return f"{self.name}, line {line}"
        return f"{self.name}, row {row.number}"

    def _records(self, text: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Rows that are not blank, each with the number of its first line."""
        reader = csv.reader(text, delimiter=self.delimiter, quotechar=self.reading.quote)
        line = 1
        try:
            for cells in reader:
                if cells:
                    yield line, cells
                line = reader.line_num + 1
        except csv.Error as error:
            raise BadLineError(f"{self.name}, line {line}: cannot be read as CSV ({error}).") from error


def sniffed(text: str, quote: str = '"') -> str:
    """The delimiter that cuts the first lines into the most cells, and most of them into as many as the header.

    >>> sniffed("a;b;c\\n1,5;2;3\\n")
    ';'
    """

    def quality(delimiter: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote)
        try:
            widths = [len(row) for row in islice(reader, _ROWS_TO_LOOK_AT) if row]
        except csv.Error:
            return 0, 0
        if not widths or widths[0] == 1:
            return 0, 0
        return 2 * Counter(widths)[widths[0]] // len(widths), widths[0]

    return max(DELIMITERS, key=quality)


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
