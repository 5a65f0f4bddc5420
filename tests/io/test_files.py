"""Promises about files: what was read comes back, types are decided by all rows, nothing half-written stays."""

from __future__ import annotations

import csv
import gzip
import io
import json
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.table.cells import parse_number
from maskdiff.errors import BadLineError, EmptyTableError, InputError, SettingError, UnknownColumnError
from maskdiff.io import ReadOptions, WriteOptions, format_of, open_output, open_rows, open_writer
from maskdiff.io.csv import DelimitedWriter, sniffed
from maskdiff.io.csv_types import as_exact_numbers
from maskdiff.io.rows import as_batch
from maskdiff.jobs import NormalTableRows, read_table
from maskdiff.jobs.labels import Labels

FORMATS = ["rows.csv", "rows.csv.gz", "rows.tsv", "rows.parquet", "rows.jsonl", "rows.jsonl.gz", "rows.arrow"]


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


# Round trips ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_texts_come_back_from_every_format(name, tmp_path):
    table = pa.table({"a b": ["x", None, 'q"uo,te'], "c": ["é\n2", " 7 ", "=1"]})
    write(tmp_path / name, table)
    assert texts(tmp_path / name).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.arrow"])
def test_numbers_booleans_and_missing_cells_come_back_from_formats_with_types(name, tmp_path):
    table = pa.table({"n": [1, None, 3], "x": [0.1, 1e300, None], "b": [True, None, False], "t": [None, "a", "b"]})
    write(tmp_path / name, table)
    back = texts(tmp_path / name)
    assert back.to_pylist() == table.to_pylist()
    assert back.schema.types == table.schema.types


def test_columns_of_any_type_can_be_written_as_csv(tmp_path):
    day = pd.Timestamp("2024-02-29")
    table = pa.table(
        {
            "float": [1.5, float("nan")],
            "date": pa.array([day, None], pa.date32()),
            "moment": pa.array([day, None], pa.timestamp("us")),
            "long": pa.array([1, None], pa.duration("s")),
            "list": [[1, 2], None],
            "bytes": [b"ab", b"\xff"],
            "category": pa.array(["u", None]).dictionary_encode(),
            "boolean": [True, False],
        }
    )
    write(tmp_path / "rows.csv", table)
    rows = texts(tmp_path / "rows.csv").to_pylist()
    assert list(rows[0].values()) == [
        "1.5",
        "2024-02-29",
        "2024-02-29 00:00:00.000000",
        "0:00:01",
        "[1, 2]",
        "ab",
        "u",
        "true",
    ]
    assert list(rows[1].values()) == [None, None, None, None, None, "\\xff", None, "false"]


def test_columns_of_any_type_can_be_written_as_json_lines(tmp_path):
    table = pa.table({"x": [float("inf")], "when": pa.array([pd.Timestamp("2024-02-29")]), "many": [[1.0, None]]})
    write(tmp_path / "rows.jsonl", table)
    assert json.loads((tmp_path / "rows.jsonl").read_text()) == {
        "x": None,
        "when": "2024-02-29T00:00:00",
        "many": [1.0, None],
    }


def test_batches_cut_a_large_file_without_losing_or_mixing_rows(tmp_path):
    numbers = np.arange(150_000)
    pd.DataFrame({"n": numbers, "word": "w"}).to_csv(tmp_path / "rows.csv", index=False)
    with open_rows(str(tmp_path / "rows.csv")) as rows:
        sizes = [batch.num_rows for batch in rows.batches()]
        again = [int(n) for batch in rows.batches([0]) for n in batch.column(0).to_pylist()]
    assert sizes == [65_536, 65_536, 150_000 - 2 * 65_536]
    assert again == numbers.tolist()


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=6))
def test_any_text_in_a_cell_comes_back_from_csv(cells):
    table = pa.table(dict(zip("ab", zip(*cells, strict=True), strict=True)))
    out = io.BytesIO()
    DelimitedWriter(out, table.schema, delimiter=",", safe=False).write(as_batch(table))
    back = csv.reader(io.StringIO(out.getvalue().decode(), newline=""), strict=True)
    assert [tuple(row) for row in back][1:] == cells


# CSV as it is found --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(delimiter, tmp_path):
    content = "\n".join(delimiter.join(row) for row in (["a", "b", "c"], ["1", '"x,;\t|y"', "3"]))
    assert texts(csv_file(tmp_path, content)).to_pylist() == [{"a": "1", "b": "x,;\t|y", "c": "3"}]


def test_a_single_column_has_no_delimiter_to_find():
    assert sniffed("word\nalpha\nbeta\n") == ","


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_read(end, tmp_path):
    assert texts(csv_file(tmp_path, end.join(["a,b", "1,2", "", "3,4", ""]))).to_pydict() == {
        "a": ["1", "3"],
        "b": ["2", "4"],
    }


def test_line_ends_inside_quotes_stay_as_they_are(tmp_path):
    assert texts(csv_file(tmp_path, 'a,b\r\n"x\r\ny",2\r\n')).to_pydict() == {"a": ["x\r\ny"], "b": ["2"]}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_tells_the_encoding(encoding, tmp_path):
    assert texts(csv_file(tmp_path, "naïve,b\né,2\n".encode(encoding))).to_pydict() == {"naïve": ["é"], "b": ["2"]}


def test_another_encoding_is_read_when_named(tmp_path):
    assert texts(csv_file(tmp_path, "a\né\n".encode("cp1252")), encoding="cp1252").to_pydict() == {"a": ["é"]}


def test_bytes_that_are_no_utf8_are_named_by_their_line_with_a_way_out(tmp_path):
    path = csv_file(tmp_path, b"a,b\n1,2\n3,\xe9\n")
    with pytest.raises(BadLineError, match=r"line 3: the byte 0xe9 is not utf-8.*--encoding cp1252"):
        texts(path)


def test_bytes_that_are_no_utf8_are_named_by_their_line_far_into_a_file(tmp_path):
    path = csv_file(tmp_path, b"a,b\n" + b"1,2\n" * 400_000 + b"3,\xe9\n")
    with pytest.raises(BadLineError, match=r"line 400002: the byte 0xe9"):
        texts(path)


def test_a_bad_line_is_named_by_its_line_even_after_cells_with_line_ends(tmp_path):
    path = csv_file(tmp_path, 'a,b\n"x\ny",1\n\n2,3,4\n')
    with pytest.raises(BadLineError, match=r"rows.csv, line 5: 3 cells, where the header has 2.*--on-bad-lines skip"):
        texts(path)


def test_bad_lines_can_be_skipped_and_are_counted(tmp_path):
    path = csv_file(tmp_path, "a,b\n1,2\n3\n4,5\n6,7,8\n")
    with open_rows(str(path), ReadOptions(on_bad_lines="skip")) as rows:
        kept = [row for batch in rows.batches() for row in batch.to_pylist()]
    assert kept == [{"a": "1", "b": "2"}, {"a": "4", "b": "5"}]
    assert rows.skipped.lines == 2
    assert "line 3: 1 cells" in str(rows.skipped.first)


def test_a_bad_json_line_is_named_and_can_be_skipped(tmp_path):
    path = csv_file(tmp_path, '{"a": 1}\n{"a": \n[1]\n{"a": 2}\n', "rows.jsonl")
    with pytest.raises(BadLineError, match="line 2: no JSON object"):
        texts(path)
    assert texts(path, on_bad_lines="skip").to_pydict() == {"a": [1, 2]}


def test_names_may_repeat_in_a_csv_header_and_come_back(tmp_path):
    path = csv_file(tmp_path, "a,a,\n1,2,3\n")
    table = texts(path)
    assert table.column_names == ["a", "a", ""]
    write(tmp_path / "copy.csv", table)
    assert (tmp_path / "copy.csv").read_text() == "a,a,\n1,2,3\n"
    with pytest.raises(UnknownColumnError, match="only CSV can hold"):
        write(tmp_path / "copy.parquet", table)


def test_a_repeated_name_cannot_be_learned_from_unless_it_is_dropped(tmp_path):
    path = csv_file(tmp_path, "a,b,a\n1,2,3\n")
    with open_rows(str(path)) as rows:
        with pytest.raises(UnknownColumnError, match="columns 1 and 3 are both named 'a'"):
            NormalTableRows(rows)
        assert [table.column_names for table in NormalTableRows(rows, {"a": "drop"}).batches()] == [["a", "b"]]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_said_to_be_empty(content, tmp_path):
    with pytest.raises(EmptyTableError, match=r"rows.csv is empty"):
        texts(csv_file(tmp_path, content))


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    assert texts(csv_file(tmp_path, "a,b")).num_rows == 0


def test_gzip_that_was_cut_off_is_said_to_be_damaged(tmp_path):
    path = csv_file(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-12], "rows.csv.gz")
    with pytest.raises(InputError, match="damaged or cut off"):
        texts(path)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_a_file_that_is_not_what_its_name_says_is_refused_in_one_sentence(name, tmp_path):
    with pytest.raises(InputError, match=r"is not an? (Parquet|Arrow) file, or is damaged") as caught:
        texts(csv_file(tmp_path, "a,b\n1,2\n", name))
    assert "\n" not in str(caught.value)


WRONG = ({"delimiter": ",,"}, {"quote": ""}, {"on_bad_lines": "mend"}, {"format": "xls"}, {"encoding": "klingon"})


@pytest.mark.parametrize("wrong", WRONG)
def test_settings_that_make_no_sense_are_refused(wrong, tmp_path):
    with pytest.raises(SettingError):
        texts(csv_file(tmp_path, "a,b\n1,2\n"), **wrong)


def test_a_name_that_tells_no_format_needs_one_named():
    with pytest.raises(SettingError, match="--format"):
        format_of("rows.xlsx")
    with pytest.raises(SettingError, match="gzip"):
        format_of("rows.parquet.gz")
    assert format_of("rows.xlsx", "csv") == "csv"


# What cells stand for ------------------------------------------------------------------------------------------------

CELLS = {
    "whole": (["1", "02", "+3"], pa.int64()),
    "whole with a gap": (["1", "", "3"], pa.float64()),
    "number": (["1", "2.5", "1e3"], pa.float64()),
    "number, NA": (["1", "NA", "3"], pa.float64()),
    "truth": (["true", "FALSE", "True"], pa.bool_()),
    "date": (["2024-02-29", "2024-03-01T10:00", "2024-03-02 11:00:00Z"], pa.timestamp("us")),
    "no date": (["2024-02-30", "2024-03-01", "2024-03-02"], pa.large_string()),
    "word": (["1", "2", "two"], pa.large_string()),
    "hexadecimal": (["0x1F", "1", "2"], pa.large_string()),
    "underscores": (["1_000", "1", "2"], pa.large_string()),
}


def test_the_cells_of_a_csv_column_decide_its_type(tmp_path):
    pd.DataFrame({name: cells for name, (cells, _) in CELLS.items()}).to_csv(tmp_path / "rows.csv", index=False)
    table = typed(tmp_path / "rows.csv")
    assert {name: table.schema.field(name).type for name in CELLS} == {name: kind for name, (_, kind) in CELLS.items()}


def test_types_are_those_of_pandas_but_for_dates(tmp_path):
    table = pd.DataFrame({name: cells for name, (cells, _) in CELLS.items() if name != "date"})
    table.to_csv(tmp_path / "rows.csv", index=False)
    theirs, ours = pd.read_csv(tmp_path / "rows.csv"), typed(tmp_path / "rows.csv").to_pandas()
    pd.testing.assert_frame_equal(ours.astype(theirs.dtypes), theirs)
    kinds = {name: (theirs[name].dtype.kind, ours[name].dtype.kind) for name in table}
    assert all(a == b for a, b in kinds.values()), kinds


def test_the_last_row_counts_as_much_as_the_first(tmp_path):
    path = csv_file(tmp_path, "n\n" + "1\n" * 200_000 + "none of your business\n")
    assert typed(path).schema.field("n").type == pa.large_string()


def test_texts_of_a_typed_format_stay_texts_unless_they_are_all_dates(tmp_path):
    write(tmp_path / "rows.parquet", pa.table({"code": ["007", "012"], "day": ["2024-01-01", None]}))
    table = typed(tmp_path / "rows.parquet")
    assert table.schema.types == [pa.large_string(), pa.timestamp("us")]
    assert table["code"].to_pylist() == ["007", "012"]


ODD_NUMBERS = st.sampled_from(["7", "-1.50", " 2", "1e3", "9007199254740993", "+4", ".5", "inf", "1e400", "x", "0x1F"])
NUMBERS = st.one_of(st.none(), ODD_NUMBERS, st.floats(allow_nan=False).map(repr), st.integers().map(str))


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_read_the_quick_way_are_those_read_one_by_one(cells):
    quick = as_exact_numbers(pa.array(cells, pa.string())).to_pylist()
    slow = [None if cell is None else parse_number(cell) for cell in cells]
    assert [parse_number(cell) if isinstance(cell, str) else cell for cell in quick] == slow


# Labels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cells", [["0", "1"], ["false", "true"], ["0.0", "1.0"], [0, 1], [False, True], [0.0, 1.0]])
def test_zero_and_one_are_labels_in_any_writing(cells):
    labels = Labels("y")
    assert labels.is_normal(pa.array(cells)).tolist() == [True, False]
    assert labels.is_anomaly(pa.array(cells)).tolist() == [False, True]


def test_other_labels_have_to_be_explained():
    with pytest.raises(SettingError, match=r"'y' holds 'ok'.*--normal"):
        Labels("y").is_normal(pa.array(["ok"]))
    assert Labels("y", ["ok", "fine"]).is_normal(pa.array(["ok", "bad", "fine", None, ""])).tolist() == [1, 0, 1, 0, 0]


def test_rows_that_are_not_normal_decide_no_types(tmp_path):
    path = csv_file(tmp_path, "n,y\n1,0\nERR,1\n2,0\n")
    with open_rows(str(path)) as rows:
        found = NormalTableRows(rows, {"y": "drop"}, Labels("y"))
        (table,) = found.batches()
    assert found.n_rows == 2
    assert table["n"].to_pylist() == [1, 2]
    assert table["y"].null_count == 2


# Writing -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_file_that_was_not_finished_is_not_there_and_the_old_one_still_is(failure, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with suppress(KeyboardInterrupt, OSError), open_output(str(path)) as file:
        file.write(b"half")
        raise failure
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_can_be_read_by_those_who_may_read_others(tmp_path):
    (tmp_path / "plain").write_text("")
    with open_output(str(tmp_path / "rows")) as file:
        file.write(b"x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("rows", "plain")]
    assert modes[0] == modes[1]


def test_a_link_is_followed_when_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with open_output(str(tmp_path / "link")) as file:
        file.write(b"new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_formulas_are_defused_and_numbers_are_not(tmp_path):
    cells = ["=1+1", "+A1", "-A1", "@x", "\tx", "-5", "+3.5e2", "x=1"]
    write(tmp_path / "rows.csv", pa.table({"=a": cells}), safe_for_spreadsheets=True)
    back = pd.read_csv(tmp_path / "rows.csv", dtype=str)
    assert back.columns.tolist() == ["'=a"]
    assert back["'=a"].tolist() == ["'=1+1", "'+A1", "'-A1", "'@x", "'\tx", "-5", "+3.5e2", "x=1"]


def test_parquet_of_large_row_groups_is_read_in_batches(tmp_path):
    pq.write_table(pa.table({"n": np.arange(200_000)}), tmp_path / "rows.parquet", row_group_size=200_000)
    with open_rows(str(tmp_path / "rows.parquet")) as rows:
        assert rows.n_rows == 200_000
        assert max(batch.num_rows for batch in rows.batches()) == 65_536
