"""The encoding of a text file is found over all of it, assumed with a notice, and never changes half way."""

from __future__ import annotations

import gzip
import io
import sys
import warnings

import pytest

from maskdiff.errors import BadLineError, ReadingWarning, SettingError

from .written import csv_file, texts

ROWS = "Straße;Größe\nKöln;5,5 €\nBonn;„groß“\n"
READ = {"Straße": ["Köln", "Bonn"], "Größe": ["5,5 €", "„groß“"]}
FAR = 400_000  # lines, more than the part that is looked at for the layout of a pipe


@pytest.fixture
def piped(monkeypatch):
    def pipe(content: bytes) -> str:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
        return "-"

    return pipe


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_utf8_and_byte_order_marks_need_no_notice(encoding, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert texts(csv_file(tmp_path, ROWS.encode(encoding))).to_pydict() == READ


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_an_encoding_that_is_assumed_is_said_once(encoding, ending, tmp_path):
    packed = gzip.compress if ending == "csv.gz" else bytes
    path = csv_file(tmp_path, packed(ROWS.encode(encoding)), f"rows.{ending}")
    with pytest.warns(ReadingWarning, match=f"{encoding} is assumed.*encoding=NAME") as given:
        assert texts(path).to_pydict() == READ
    assert [warning.message.setting for warning in given] == ["encoding"]


def test_the_notice_shows_what_is_read(tmp_path):
    with pytest.warns(ReadingWarning, match="cp1252 is assumed, which reads 'Köln' in line 3"):
        texts(csv_file(tmp_path, "a;b\n1;2\nKöln;3\n".encode("latin-1")))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le"])
def test_json_lines_are_read_in_any_encoding(encoding, tmp_path):
    content = '{"city": "Köln"}\n{"city": "Málaga"}\n'.encode(encoding)
    with pytest.warns(ReadingWarning, match="is assumed"):
        assert texts(csv_file(tmp_path, content, "rows.jsonl"))["city"].to_pylist() == ["Köln", "Málaga"]


def test_an_encoding_that_is_given_is_taken(tmp_path):
    assert texts(csv_file(tmp_path, "a\nü\n".encode("cp850")), encoding="cp850").to_pydict() == {"a": ["ü"]}
    with pytest.raises(SettingError, match="no encoding is called 'utf-7000'"):
        texts(csv_file(tmp_path, "a\n1\n"), encoding="utf-7000")


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
def test_one_byte_decides_for_the_whole_file(far, tmp_path):
    lines = "Name,b\n" + "1,2\n" * (FAR if far else 2) + "Köln,é\n"
    with pytest.warns(ReadingWarning, match="cp1252 is assumed"):
        table = texts(csv_file(tmp_path, lines.encode("cp1252")))
    assert table.num_rows == lines.count("\n") - 1
    assert table.slice(table.num_rows - 1).to_pylist() == [{"Name": "Köln", "b": "é"}]


def test_a_pipe_is_read_in_one_encoding_though_it_shows_late(piped):
    lines = "Name,b\n" + "1,2\n" * FAR + "Köln,é\n"
    with pytest.warns(ReadingWarning, match=rf"standard input.*cp1252 is assumed.*'Köln' in line {FAR + 2}"):
        table = texts(piped(lines.encode("cp1252")))
    assert table.slice(FAR).to_pylist() == [{"Name": "Köln", "b": "é"}]


def test_a_pipe_that_begins_as_utf8_is_not_read_on_in_another_encoding(piped):
    content = "Größe,b\n".encode() + b"1,2\n" * FAR + "Köln,é\n".encode("cp1252")
    with pytest.raises(BadLineError, match=rf"line {FAR + 2}: the byte 0xf6 is not utf-8"):
        texts(piped(content))


def test_damage_in_utf8_does_not_make_it_another_encoding(tmp_path):
    content = "Größe,b\n".encode() + "Köln,ü\n".encode() * 9 + b"K\xf6ln,2\n"
    with pytest.raises(BadLineError, match=r'line 11: the byte 0xf6 is not utf-8.*encoding="cp1252"'):
        texts(csv_file(tmp_path, content))


def test_bytes_that_cp1252_does_not_know_are_named_by_their_line(tmp_path):
    with pytest.raises(BadLineError, match=r'line 2: the byte 0x81 is not utf-8.*"cp850"'):
        texts(csv_file(tmp_path, "a,b\nü,2\n".encode("cp850")))


def test_lines_of_an_old_mac_are_counted_too(tmp_path):
    with pytest.warns(ReadingWarning, match="'Köln' in line 3"):
        assert texts(csv_file(tmp_path, "a,b\r1,2\rKöln,3\r".encode("cp1252"))).num_rows == 2
