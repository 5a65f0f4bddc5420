"""A format made outside the package, one class each way and one line in the registry, walks through every job."""

from __future__ import annotations

import pyarrow as pa
import pytest

from maskdiff import TableDetector, TextDetector
from maskdiff.io import FORMATS, Format, open_rows
from maskdiff.io.cell_texts import as_texts
from maskdiff.io.rows import SkippedLines, only
from maskdiff.jobs import ScoreOptions, evaluate_file, explain_rows, fit_file, report_file, score_file

WIDTH = 24


class FixedWidthRows:
    """Rows of cells that are 24 characters wide each, under a line with their names."""

    def __init__(self, source, reading):
        self.name, self.reading, self.skipped, self.n_rows = source.name, reading, SkippedLines(), None
        with source.open() as file:
            self.lines = [self._cells(line) for line in file.read().decode().splitlines()]
        self.schema = pa.schema([(name, pa.string()) for name in self.lines[0]])

    def _cells(self, line):
        return [line[at : at + WIDTH].strip() for at in range(0, len(line), WIDTH)]

    def batches(self, columns=None):
        size = self.reading.batch_rows(len(self.schema))
        for at in range(1, len(self.lines), size):
            cells = [pa.array(column, pa.string()) for column in zip(*self.lines[at : at + size], strict=True)]
            yield only(pa.RecordBatch.from_arrays(cells, schema=self.schema), columns)


class FixedWidthWriter:
    def __init__(self, file, schema):
        self.file = file
        self._line(schema.names)

    def _line(self, cells):
        self.file.write("".join(f"{cell[:WIDTH]:<{WIDTH}}" for cell in cells).encode() + b"\n")

    def write(self, batch):
        for row in zip(*(as_texts(column).fill_null("").to_pylist() for column in batch.columns), strict=True):
            self._line(row)

    def close(self):
        pass


@pytest.fixture
def fixed_width(monkeypatch):
    format = Format((".fixed",), FixedWidthRows, lambda file, schema, *_: FixedWidthWriter(file, schema))
    monkeypatch.setitem(FORMATS, "fixed", format)


def write_rows(path, names, rows):
    with path.open("wb") as file:
        writer = FixedWidthWriter(file, pa.schema([(name, pa.string()) for name in names]))
        for row in rows:
            writer._line(row)
    return str(path)


def test_a_table_in_a_format_from_outside_is_fitted_scored_explained_and_reported(fixed_width, tmp_path):
    normal = write_rows(tmp_path / "normal.fixed", ["pet", "says"], [["cat", "meow"], ["dog", "woof"]] * 100)
    new = write_rows(
        tmp_path / "new.fixed", ["id", "pet", "says", "y"], [["7", "cat", "meow", "0"], ["8", "cat", "woof", "1"]]
    )
    detector = fit_file(normal, tmp_path / "pets.maskdiff", detector=TableDetector("kernel"))
    model = tmp_path / "pets.maskdiff"
    summary = score_file(model, new, str(tmp_path / "scored.fixed"), ScoreOptions(explain=1))
    assert (summary.rows, summary.anomalies) == (2, 1)
    with open_rows(str(tmp_path / "scored.fixed")) as rows:
        (batch,) = rows.batches()
    assert batch.column("is_anomaly").to_pylist() == ["false", "true"]
    assert explain_rows(detector, new, where=("id", "8"))[0].row == 2
    assert evaluate_file(detector, new, "y").roc_auc == 1.0
    assert report_file(model, new, str(tmp_path / "report.html")).anomalies == 1


def test_texts_in_a_format_from_outside_are_found_by_their_column(fixed_width, tmp_path):
    path = write_rows(tmp_path / "texts.fixed", ["id", "text"], [["1", "see you"], ["2", "see me"]])
    with pytest.raises(ValueError, match="has no column 'message'"):
        fit_file(path, detector=TextDetector(column="message"))
