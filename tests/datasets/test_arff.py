from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pandas as pd
import pytest

from maskdiff.datasets.arff import Attribute, parse_attribute, read_arff
from maskdiff.errors import BadLineError, InputError


def written(folder: Path, text: str, name: str = "table.arff") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def cells(path: Path) -> list[list[str | None]]:
    table = read_arff(path).astype(object)
    return table.where(table.notna(), None).to_numpy().tolist()


def packed(folder: Path, inner: str, text: str) -> Path:
    path = folder / "table.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        member = tarfile.TarInfo(inner)
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
    return path


SMALL = "@relation r\n@attribute a {x,y}\n@attribute class {1,0}\n@data\nx,0\ny,1\n"


def test_columns_are_categories_in_the_order_declared(tmp_path):
    table = read_arff(written(tmp_path, SMALL))
    assert list(table.columns) == ["a", "class"]
    assert isinstance(table["class"].dtype, pd.CategoricalDtype)
    assert list(table["class"].cat.categories) == ["1", "0"]
    assert table.to_numpy().tolist() == [["x", "0"], ["y", "1"]]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("@attribute _corn_binarized{0,1}", Attribute("_corn_binarized", ("0", "1"))),
        ("@attribute n {1,0} % 1 for no less than 10", Attribute("n", ("1", "0"))),
        ("@ATTRIBUTE\tn\t{ 1 , 0 }", Attribute("n", ("1", "0"))),
        ("@attribute 'url*a b' {0,1}", Attribute("url*a b", ("0", "1"))),
        ("@attribute 'it\\'s' {'a, b','50%'}", Attribute("it's", ("a, b", "50%"))),
        ('@attribute "two words" {"in {braces}",c}', Attribute("two words", ("in {braces}", "c"))),
        (
            "@attribute degree {Bachelors-degree(BA-AB-BS),50000+.}",
            Attribute("degree", ("Bachelors-degree(BA-AB-BS)", "50000+.")),
        ),
    ],
)
def test_declarations_are_read_whatever_their_spacing_quotes_and_comments(line, expected):
    assert parse_attribute(line) == expected


@pytest.mark.parametrize("line", ["@attribute age numeric", "@attribute broken {a,b", "@attribute"])
def test_what_is_not_nominal_is_refused_with_the_line_itself(line):
    with pytest.raises(BadLineError, match="nominal"):
        parse_attribute(line)


def test_question_mark_is_missing_and_a_quoted_one_is_not(tmp_path):
    path = written(tmp_path, "@attribute a {x,'?'}\n@attribute b {1,0}\n@data\n?,1\n'?', ?\nx,0\n")
    assert cells(path) == [[None, "1"], ["?", None], ["x", "0"]]


def test_a_column_that_is_missing_everywhere_stays_a_column(tmp_path):
    path = written(tmp_path, "@attribute a {x}\n@attribute b {1,0}\n@data\n?,1\n?,0\n")
    assert cells(path) == [[None, "1"], [None, "0"]]


def test_line_ends_blank_lines_comments_and_blanks_around_values_do_not_matter(tmp_path):
    body = "@relation 'X:\\\\r'\r\n\r\n% made by hand\n@attribute a {x,y}\n@attribute b{1,0} % why\r\n\r\n@DATA\r\n"
    path = written(tmp_path, body + "% the rows\nx,1\r\n\r\n y , 0\n%x,1,0\nx,0\n\r\n")
    assert cells(path) == [["x", "1"], ["y", "0"], ["x", "0"]]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_quoted_values_may_hold_commas_and_blanks(tmp_path, quote):
    value = f"{quote}a, b{quote}"
    path = written(
        tmp_path, f"@attribute v {{{value},c}}\n@attribute w {{1,0}}\n@data\n{value},1\nc,0\n{quote}c{quote},0\n"
    )
    assert cells(path) == [["a, b", "1"], ["c", "0"], ["c", "0"]]


def test_escaped_quotes_inside_a_value_are_part_of_it(tmp_path):
    path = written(tmp_path, "@attribute v {'it\\'s',c}\n@attribute w {1,0}\n@data\n'it\\'s',1\n")
    assert cells(path) == [["it's", "1"]]


def test_names_are_read_in_either_encoding(tmp_path):
    path = tmp_path / "old.arff"
    path.write_bytes("@attribute größe {1,0}\n@data\n1\n".encode("latin-1"))
    assert list(read_arff(path).columns) == ["größe"]
    assert list(read_arff(written(tmp_path, "@attribute größe {1,0}\n@data\n1\n")).columns) == ["größe"]


def test_an_archive_reads_like_the_file_in_it(tmp_path):
    plain = read_arff(written(tmp_path, SMALL))
    pd.testing.assert_frame_equal(read_arff(packed(tmp_path, "inner/table.arff", SMALL)), plain)


def test_values_first_seen_late_in_a_long_file_keep_their_meaning(tmp_path):
    # Long enough for several blocks, each with a dictionary of its own.
    header = "@attribute a {one,two,three}\n@attribute b {1,0}\n@data\n"
    path = written(tmp_path, header + "two,1\n" * 800_000 + "three,0\n" * 800_000 + "one,1\n")
    table = read_arff(path)
    assert table["a"].value_counts().to_dict() == {"two": 800_000, "three": 800_000, "one": 1}
    assert table["a"].iloc[[0, -2, -1]].tolist() == ["two", "three", "one"]
    assert table["b"].iloc[[0, -2, -1]].tolist() == ["1", "0", "1"]


@pytest.mark.parametrize("end", ["", "\n", "\n% none yet\n"])
def test_a_table_without_rows_is_refused(tmp_path, end):
    with pytest.raises(InputError, match=r"table\.arff.*(no rows|Empty)"):
        read_arff(written(tmp_path, "@attribute a {x,y}\n@attribute b {1,0}\n@data\n" + end))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("@attribute a {x,y}\nx\n", "no @attribute line followed by a @data line"),
        ("@data\n", "no @attribute line followed by a @data line"),
        ("@attribute a {x}\n@attribute a {y}\n@data\n", "line 2: attribute 'a' is declared twice"),
        ("@relation r\n@attribute a real\n@data\n1.5\n", "line 2: .*nominal"),
        ("@attribute a {x}\n@attribute b {y}\n@data\nx,z\n", "attribute 'b' was not declared to take the value 'z'"),
        ("@attribute a {x}\n@attribute b {y}\n@data\nx,y\nx\n", "Expected 2 columns, got 1"),
    ],
)
def test_a_file_that_is_wrong_is_refused_and_named(tmp_path, text, says):
    with pytest.raises(BadLineError, match=says) as refusal:
        read_arff(written(tmp_path, text))
    assert "table.arff" in str(refusal.value)


def test_an_archive_without_a_table_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.arff"):
        read_arff(packed(tmp_path, "readme.txt", "nothing here"))


def test_a_damaged_archive_is_refused(tmp_path):
    whole = packed(tmp_path, "table.arff", SMALL * 500).read_bytes()
    for damaged in (whole[: len(whole) // 2], b"not an archive"):
        (tmp_path / "bad.tar.xz").write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be unpacked"):
            read_arff(tmp_path / "bad.tar.xz")
