"""CSV as it is found: delimiters, quotes, bad lines, and texts that come back as they were."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.errors import BadLineError, EmptyTableError, ReadingWarning, SettingError, UnknownColumnError
from maskdiff.io import ReadOptions, open_rows
from maskdiff.io.csv import DelimitedWriter
from maskdiff.io.csv_layout import sniffed
from maskdiff.io.rows import as_batch

from .written import csv_file, texts, write


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


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=6))
def test_any_text_in_a_cell_comes_back_from_csv(cells):
    table = pa.table(dict(zip("ab", zip(*cells, strict=True), strict=True)))
    out = io.BytesIO()
    DelimitedWriter(out, table.schema, delimiter=",", safe=False).write(as_batch(table))
    back = csv.reader(io.StringIO(out.getvalue().decode(), newline=""), strict=True)
    assert [tuple(row) for row in back][1:] == cells


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(delimiter, tmp_path):
    content = "\n".join(delimiter.join(row) for row in (["a", "b", "c"], ["1", '"x,;\t|y"', "3"]))
    assert texts(csv_file(tmp_path, content)).to_pylist() == [{"a": "1", "b": "x,;\t|y", "c": "3"}]


def test_a_single_column_has_no_delimiter_to_find():
    assert sniffed("word\nalpha\nbeta\n") == ","


def test_blanks_separate_cells_where_nothing_else_does(tmp_path):
    with pytest.warns(ReadingWarning, match="blanks are taken to stand between cells"):
        read = texts(csv_file(tmp_path, "pet weight\ndog 7.5\ncat 4\ndog 8\n"))
    assert read.to_pydict() == {"pet": ["dog", "cat", "dog"], "weight": ["7.5", "4", "8"]}


@pytest.mark.parametrize(
    "content",
    [
        "name\nAnn Lee\nBo Hall\nCy Young\n",
        "full name\nAnn Lee\nBo Hall\nCy Young\n",
        "a b,c\n1 2,3\n4 5,6\n7 8,9\n",
        "day\n2024-01-01 10:00\n2024-01-02 10:00\n2024-01-03 10:00\n",
        "2024-01-01 10:00\n2024-01-02 10:00\n2024-01-03 10:00\n2024-01-04 10:00\n",
        "order 1\norder 2\n",
    ],
    ids=["names", "as many words as the header", "commas", "times", "times without header", "few lines"],
)
def test_blanks_in_cells_separate_nothing(content):
    assert sniffed(content) == ","


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_kind_of_line_end_is_read(end, tmp_path):
    assert texts(csv_file(tmp_path, end.join(["a,b", "1,2", "", "3,4", ""]))).to_pydict() == {
        "a": ["1", "3"],
        "b": ["2", "4"],
    }


def test_line_ends_inside_quotes_stay_as_they_are(tmp_path):
    assert texts(csv_file(tmp_path, 'a,b\r\n"x\r\ny",2\r\n')).to_pydict() == {"a": ["x\r\ny"], "b": ["2"]}


def test_a_bad_line_is_named_by_its_line_even_after_cells_with_line_ends(tmp_path):
    path = csv_file(tmp_path, 'a,b\n"x\ny",1\n\n2,3,4\n')
    with pytest.raises(BadLineError, match=r'rows.csv, line 5: 3 cells, where the header has 2.*on_bad_lines="skip"'):
        texts(path)


def test_bad_lines_can_be_skipped_and_are_counted(tmp_path):
    path = csv_file(tmp_path, "a,b\n1,2\n3\n4,5\n6,7,8\n")
    with open_rows(str(path), ReadOptions(on_bad_lines="skip")) as rows:
        kept = [row for batch in rows.batches() for row in batch.to_pylist()]
    assert kept == [{"a": "1", "b": "2"}, {"a": "4", "b": "5"}]
    assert rows.skipped.lines == 2
    assert "line 3: 1 cells" in str(rows.skipped.first)


def test_names_may_repeat_in_a_csv_header_and_come_back(tmp_path):
    path = csv_file(tmp_path, "a,a,\n1,2,3\n")
    table = texts(path)
    assert table.column_names == ["a", "a", ""]
    write(tmp_path / "copy.csv", table)
    assert (tmp_path / "copy.csv").read_text() == "a,a,\n1,2,3\n"
    with pytest.raises(UnknownColumnError, match="only CSV can hold"):
        write(tmp_path / "copy.parquet", table)


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_said_to_be_empty(content, tmp_path):
    with pytest.raises(EmptyTableError, match=r"rows.csv is empty"):
        texts(csv_file(tmp_path, content))


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    assert texts(csv_file(tmp_path, "a,b")).num_rows == 0


def test_formulas_are_defused_and_numbers_are_not(tmp_path):
    cells = ["=1+1", "+A1", "-A1", "@x", "\tx", "-5", "+3.5e2", "x=1"]
    write(tmp_path / "rows.csv", pa.table({"=a": cells}), safe_for_spreadsheets=True)
    back = pd.read_csv(tmp_path / "rows.csv", dtype=str)
    assert back.columns.tolist() == ["'=a"]
    assert back["'=a"].tolist() == ["'=1+1", "'+A1", "'-A1", "'@x", "'\tx", "-5", "+3.5e2", "x=1"]


# Quotes, comments, headers -------------------------------------------------------------------------------------------

STRAY = "label\ttext\n" + "ham\tsee you\n" * 3 + 'ham\t"So what\nspam\tWin now\nham\tok"\n' + "ham\tbye\n" * 3


def test_a_stray_quote_in_a_file_with_tabs_glues_no_lines(tmp_path):
    with pytest.warns(ReadingWarning, match="do not pair"):
        table = texts(csv_file(tmp_path, STRAY, "rows.tsv"))
    assert table.num_rows == STRAY.count("\n") - 1
    assert table["text"].to_pylist()[3:6] == ['"So what', "Win now", 'ok"']


def test_a_quote_that_is_never_closed_is_part_of_its_cell(tmp_path):
    with pytest.warns(ReadingWarning, match="do not pair"):
        table = texts(csv_file(tmp_path, 'a,b\n1,2\n3,"4\n5,6\n'))
    assert table["b"].to_pylist() == ["2", '"4', "6"]


def test_quoting_can_be_switched_off_and_on(tmp_path):
    path = csv_file(tmp_path, 'a\tb\n1\t"x\n2\ty"\n', "rows.tsv")
    assert texts(path, quote=None)["b"].to_pylist() == ['"x', 'y"']
    assert texts(path, quote='"')["b"].to_pylist() == ["x\n2\ty"]


def test_quotes_that_pair_stay_quotes_even_over_lines(tmp_path):
    content = 'id,text\n1,"see, you\nlater"\n2,"say ""hi"", ok"\n3,5" pipe\n'
    assert texts(csv_file(tmp_path, content))["text"].to_pylist() == ["see, you\nlater", 'say "hi", ok', '5" pipe']


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_and_rows_are_reconciled(end, tmp_path):
    path = csv_file(tmp_path, end.join(["a,b", '"x', 'y",1', "", "2,3", "4", "5,6"]))
    with open_rows(str(path), ReadOptions(on_bad_lines="skip")) as rows:
        assert sum(batch.num_rows for batch in rows.batches()) == 3
    found = rows.skipped
    assert (found.total, found.rows, found.in_cells, found.blank, found.lines) == (7, 3, 1, 1, 1)


def test_comments_above_the_header_are_left_out_with_a_notice(tmp_path):
    path = csv_file(tmp_path, "# made on Monday\n#\n\na,b\n1,2\n#3,4\n")
    with pytest.warns(ReadingWarning, match="comment lines above the header left out: 2") as given:
        assert texts(path).to_pydict() == {"a": ["1", "#3"], "b": ["2", "4"]}
    assert given[0].message.setting is None  # whether there is a header is another question
    assert texts(csv_file(tmp_path, "#a,b\n1,2\n")).column_names == ["#a", "b"]


def test_a_bad_line_below_comments_is_named_by_its_line(tmp_path):
    path = csv_file(tmp_path, "# made\na,b\n1,2\n3\n")
    with pytest.warns(ReadingWarning), pytest.raises(BadLineError, match="line 4: 1 cells"):
        texts(path)


def test_a_line_that_names_the_separator_is_not_the_header(tmp_path):
    assert texts(csv_file(tmp_path, "sep=;\na;b\n1,5;2\n")).to_pylist() == [{"a": "1,5", "b": "2"}]


def test_a_file_without_header_is_noticed_or_named_so(tmp_path):
    path = csv_file(tmp_path, "cat,4.5,2024-01-05\ndog,7,2024-02-05\ncat,4,2024-01-09\ndog,8,2024-03-01\n")
    with pytest.warns(ReadingWarning, match="first line looks like data"):
        table = texts(path)
    assert table.column_names == ["column_1", "column_2", "column_3"]
    assert table["column_1"].to_pylist() == ["cat", "dog", "cat", "dog"]
    assert texts(path, header=False) == table
    assert texts(path, header=True).column_names == ["cat", "4.5", "2024-01-05"]


HEADERS = ("pet,weight\ncat,4\ndog,7\ncat,5\n", "land,2019,2020\nA,1,2\nB,3,4\nA,5,6\n", "0,1,2\n5,6,7\n6,7,8\n1,2,3\n")


@pytest.mark.parametrize("content", HEADERS)
def test_a_header_is_not_taken_for_data(content, tmp_path):
    assert texts(csv_file(tmp_path, content)).column_names == content.splitlines()[0].split(",")


# Lines that are no rows ----------------------------------------------------------------------------------------------


def test_the_header_once_more_is_no_row_and_is_counted(tmp_path):
    path = csv_file(tmp_path, "a, b\n1,2\na,b\n3,4\na , b\n")
    with open_rows(str(path)) as rows:
        kept = [row for batch in rows.batches() for row in batch.to_pylist()]
    assert kept == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]
    assert (rows.skipped.total, rows.skipped.rows, rows.skipped.headers, rows.skipped.blank) == (5, 2, 2, 0)


def test_a_text_that_reads_like_the_only_name_is_a_row(tmp_path):
    assert texts(csv_file(tmp_path, "word\nalpha\nword\n"))["word"].to_pylist() == ["alpha", "word"]


def test_delimiters_alone_are_a_blank_line(tmp_path):
    path = csv_file(tmp_path, "a,b\n1,2\n,\n3,\n , \n\n")
    with open_rows(str(path)) as rows:
        assert [batch.to_pydict() for batch in rows.batches()] == [{"a": ["1", "3"], "b": ["2", None]}]
    assert (rows.skipped.rows, rows.skipped.blank) == (2, 3)


def test_rows_that_end_with_a_delimiter_more_than_the_header_are_read(tmp_path):
    path = csv_file(tmp_path, "a,b\n1,2,,\n3,4,,\na,b,,\n5,6,,\n")
    assert texts(path).schema.names == ["a", "b", "", ""]
    assert texts(path)["a"].to_pylist() == ["1", "3", "5"]
    with pytest.raises(BadLineError, match="line 4: 3 cells, where the header has 4"):
        texts(csv_file(tmp_path, "a,b\n" + "1,2,,\n" * 2 + "3,4,\n" + "1,2,,\n" * 30, "b.csv"))


def test_row_names_of_r_have_no_name(tmp_path):
    path = csv_file(tmp_path, '"a","b"\n"1",5,"x"\n"2",6,"y"\n"3",7,"x"\n')
    with pytest.warns(ReadingWarning, match="first column is taken to have no name"):
        assert texts(path).to_pydict() == {"": ["1", "2", "3"], "a": ["5", "6", "7"], "b": ["x", "y", "x"]}


def test_a_frequent_value_in_the_first_line_is_no_name(tmp_path):
    path = csv_file(tmp_path, "ham\tsee you\nham\tok then\nspam\twin now\nham\tbye\nham\tlater\nspam\tcall\n", "a.tsv")
    with pytest.warns(ReadingWarning, match="first line looks like data"):
        assert texts(path).num_rows == 6
    many = csv_file(tmp_path, "label\ttext\nham\tsee you\nspam\twin\nham\tok\nlabel\ttext\n" * 3, "b.tsv")
    assert texts(many)["label"].to_pylist() == ["ham", "spam", "ham"] * 3


TABLE = "day;sum;by\n1;5,5;A\n2;7,25;A\n3;8,0;B\n4;9,5;B\n"


@pytest.mark.parametrize("above", ["Report, of May\n", "Report\nby: me\n\n", "Report;;\n;;\n"])
def test_titles_above_the_header_are_left_out_with_a_notice(above, tmp_path):
    path = csv_file(tmp_path, above + TABLE)
    with (
        pytest.warns(ReadingWarning, match=r"lines above the header left out: [12] \(Report"),
        open_rows(str(path)) as rows,
    ):
        table = pa.Table.from_batches(list(rows.batches()), rows.schema)
    assert table["sum"].to_pylist() == ["5,5", "7,25", "8,0", "9,5"]
    found = rows.skipped
    assert found.total == found.rows + found.comments + found.blank + 1


@pytest.mark.parametrize("above", ["Report, of, May, 2024", "Report, May", "Sums,of,May,by,me"])
def test_a_title_with_delimiters_is_no_header_where_a_header_follows(above, tmp_path):
    path = csv_file(tmp_path, f"{above}\n{TABLE.replace(',', '.').replace(';', ',')}")
    with pytest.warns(ReadingWarning, match=r"lines above the header left out: 1 \("):
        assert texts(path).to_pydict() == {"day": [*"1234"], "sum": ["5.5", "7.25", "8.0", "9.5"], "by": [*"AABB"]}


def test_a_bad_line_below_a_title_is_named_by_its_line(tmp_path):
    with pytest.warns(ReadingWarning), pytest.raises(BadLineError, match="line 8: 2 cells, where the header has 3"):
        texts(csv_file(tmp_path, f"Report\n\n{TABLE}5;6\n"))


BELOW = "".join(f"{at},{at / 7:.2f},{'xy'[at % 2]},A\n" for at in range(30))
ODD_FIRST = {
    "30,3\n": "line 1 has 2 cells",
    "Report of May\n": "line 1 has 1 cell",
    "id,sum,kind,by,to\n": "line 1 has 5 cells",
    "id,sum,kind,by,,\n": "line 1 has 6 cells",
    "\n\n30,3\n": "line 3 has 2 cells",
    "# made on Monday\n30,3\n": "line 2 has 2 cells",
}


@pytest.mark.filterwarnings("ignore::maskdiff.errors.ReadingWarning")
@pytest.mark.parametrize("above", ODD_FIRST)
@pytest.mark.parametrize("options", [{}, {"header": False}, {"header": True}, {"on_bad_lines": "skip"}])
def test_a_first_line_unlike_all_others_is_the_one_that_is_named(above, options, tmp_path):
    """To leave out lines of another width would leave out every row; to remove or replace the first line helps."""
    path = csv_file(tmp_path, above + BELOW)
    with pytest.raises(BadLineError, match=rf"first line.*{ODD_FIRST[above]}, the next lines have 4 each") as refused:
        texts(path, **options)
    assert "on_bad_lines" not in str(refused.value)
    assert refused.value.setting is None
    assert texts(csv_file(tmp_path, BELOW, "b.csv")).num_rows == 30
    assert texts(csv_file(tmp_path, f"a,b,c,d\n{BELOW}", "c.csv")).column_names == [*"abcd"]


def test_lines_are_bad_where_many_others_fit_the_first_one(tmp_path):
    with pytest.raises(BadLineError, match=r"line 32: 4 cells, where the header has 2.*on_bad_lines"):
        texts(csv_file(tmp_path, "a,b\n" + "1,2\n" * 30 + BELOW))
    mostly = csv_file(tmp_path, f"a,b\n{BELOW}1,2\n", "mostly.csv")
    with pytest.raises(BadLineError, match="first line does not fit"):
        texts(mostly)
    assert texts(mostly, on_bad_lines="skip").to_pylist() == [{"a": "1", "b": "2"}]  # as was asked for


@pytest.mark.parametrize(
    "content",
    ["events\nA|B|C\nA|B|D\nA|C|C\nB|B|C\n", "note\na;b;c\nd;e;f\ng;h;i\n", "a\n1;2;3\n4;5;6\n7;8;9\n1;1;1\n"],
)
def test_the_name_of_a_single_column_is_no_title(content, tmp_path):
    assert texts(csv_file(tmp_path, content)).schema.names == content.split("\n")[:1]


def test_byte_order_marks_of_files_put_together_are_no_part_of_a_header(tmp_path):
    path = csv_file(tmp_path, "\ufeffa,b\n1,2\n\ufeffa,b\n3,4\n")
    assert texts(path).to_pydict() == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize("setting", [{"delimiter": "§"}, {"quote": "„"}])
def test_a_delimiter_or_quote_that_cannot_be_read_is_refused(setting):
    with pytest.raises(SettingError, match="have to be ASCII characters"):
        ReadOptions(**setting)
