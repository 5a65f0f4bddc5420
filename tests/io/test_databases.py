"""SQLite, DuckDB and queries: read in batches, never changed."""

from __future__ import annotations

import sqlite3
import sys

import duckdb
import pytest

from maskdiff.errors import InputError, MissingExtraError, SettingError
from maskdiff.io import ReadOptions, check_output, open_rows

from .written import texts

ROWS = [(n, f"name {n % 3}", n / 2) for n in range(10)]


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "claims.db"
    with sqlite3.connect(path) as database:
        database.execute("create table claims (id integer, name text, amount real)")
        database.executemany("insert into claims values (?, ?, ?)", ROWS)
    database.close()
    return path


@pytest.fixture
def duck(tmp_path):
    path = tmp_path / "claims.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("create table claims (id integer, name text, amount double)")
        database.executemany("insert into claims values (?, ?, ?)", ROWS)
    return path


@pytest.fixture(params=["sqlite", "duck"])
def database(request):
    """The path of a database, and the same as an address."""
    path = request.getfixturevalue(request.param)
    return path, f"{ {'sqlite': 'sqlite', 'duck': 'duckdb'}[request.param] }:///{path}"


def test_the_only_table_is_read_from_a_file_or_an_address(database):
    for path in database:
        assert [tuple(row.values()) for row in texts(path).to_pylist()] == ROWS


def test_any_query_is_read(database):
    query = "select name, sum(amount) as total from claims group by name order by name"
    assert texts(database[1], query=query).to_pydict() == {"name": ["name 0", "name 1", "name 2"], "total": [9, 6, 7.5]}


def test_rows_come_in_batches(database):
    with open_rows(database[1], ReadOptions(rows_at_once=4)) as rows:
        assert [batch.num_rows for batch in rows.batches()] == [4, 4, 2]
        assert [batch.num_columns for batch in rows.batches([0, 2])] == [2, 2, 2]


def test_a_wrong_table_or_query_is_refused_in_one_sentence(database):
    with pytest.raises(SettingError, match=r"there is no table 'other'. Its tables: 'claims'"):
        texts(database[1], sheet="other")
    with pytest.raises(InputError, match="cannot be read: ") as caught:
        texts(database[1], query="select nothing from claims")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("query", ["delete from claims", "drop table claims"])
def test_a_database_is_never_changed(database, query):
    before = database[0].read_bytes()
    with pytest.raises(InputError):
        texts(database[1], query=query)
    assert database[0].read_bytes() == before


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    for scheme in ("sqlite", "duckdb"):
        with pytest.raises(InputError, match="there is no database"):
            texts(f"{scheme}:///{tmp_path}/nothing.db")
    assert list(tmp_path.iterdir()) == []


def test_an_address_of_nothing_known_is_refused():
    with pytest.raises(InputError, match="klingon:// is not the address of a database"):
        texts("klingon://host/claims")


@pytest.mark.parametrize(("library", "ending"), [("sqlalchemy", "db"), ("duckdb", "duckdb")])
def test_a_library_that_is_not_installed_is_named_with_its_extra(library, ending, monkeypatch, sqlite, duck):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"pip install .maskdiff\[(sql|duckdb)\]"):
        texts(sqlite.with_suffix(f".{ending}"))


def test_a_database_is_not_written_over_whatever_its_address(sqlite):
    with pytest.raises(SettingError, match="is read and cannot be written"):
        check_output(sqlite, [f"sqlite:///{sqlite}?timeout=5"])
