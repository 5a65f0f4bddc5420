"""The table of `containers` where it is no single file of rows: workbooks, databases, folders, patterns, a pipe."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pyarrow as pa

from ..case import Case, delimited
from .containers import COLUMNS, TEXTS, TYPED, in_parquet, zipped

QUERY = "select region, amount, day from claims where open = 1 order by number"


def source(name: str, make: Callable[[Path], str], notice: str | None = None, **reading: Any) -> Case:
    return Case(f"source_{name}", COLUMNS, make=make, rows=4, notice=notice, reading=reading)


def rows(columns: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*columns.values(), strict=True))


# Workbooks -----------------------------------------------------------------------------------------------------------


def workbook(columns: dict[str, list[Any]], *above: list[str], first: str = "Schäden") -> bytes:
    """A sheet with these rows above the header, and one with notes; `first` is the one that comes first."""
    book = openpyxl.Workbook()
    claims, notes = book.active, book.create_sheet("Notizen")
    claims.title = "Schäden"
    for row in (*above, list(columns), *rows(columns)):
        claims.append(row)
    for row in (["Wer", "Was"], ["AB", "geprüft"], ["CD", "offen"]):
        notes.append(row)
    book.move_sheet(first, -1)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def file(name: str, content: bytes) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        (folder / name).write_bytes(content)
        return str(folder / name)

    return make


TITLES = (["Schäden im September"], [], ["Stand", "30.09.2024"])
WORKBOOKS = [
    source("workbook_with_titles", file("a.xlsx", workbook(TYPED, *TITLES)), "rows above the header left out: 2"),
    source("workbook_of_texts", file("a.xlsx", workbook(TEXTS, *TITLES)), "2 sheets; the first, 'Schäden', is read"),
    source("workbook_sheet", file("a.xlsx", workbook(TYPED, *TITLES, first="Notizen")), sheet="Schäden"),
]

# Databases -----------------------------------------------------------------------------------------------------------


def filled(database: Any, columns: dict[str, list[Any]], amount: str, day: str) -> None:
    """Four claims that are open and one that is not, in another order than they are numbered."""
    database.execute(f"create table claims (number integer, open integer, region text, amount {amount}, day {day})")
    numbered = [(at, 1, *row) for at, row in enumerate(rows(columns))]
    database.executemany("insert into claims values (?, ?, ?, ?, ?)", [*numbered[::-1], (9, 0, "Ost", None, None)])


def in_sqlite(columns: dict[str, list[Any]], view: bool = False) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        database = sqlite3.connect(folder / "claims.db")
        filled(database, columns, "text" if columns is TEXTS else "real", "text")
        if view:
            database.execute(f"create view open_claims as {QUERY}")
        database.commit()
        database.close()
        return str(folder / "claims.db") if view else f"sqlite:///{folder}/claims.db"

    return make


def in_duckdb(columns: dict[str, list[Any]], view: bool = False) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        with duckdb.connect(str(folder / "claims.duckdb")) as database:
            types = ("text", "text") if columns is TEXTS else ("decimal(12, 2)", "timestamp")
            filled(database, columns, *types)
            if view:
                database.execute(f"create view open_claims as {QUERY}")
        return str(folder / "claims.duckdb") if view else f"duckdb:///{folder}/claims.duckdb"

    return make


SQLITE_TYPED = {**TYPED, "day": [None if day is None else day.isoformat(sep=" ") for day in TYPED["day"]]}
DATABASES = [
    source("sqlite_query", in_sqlite(SQLITE_TYPED), query=QUERY),
    source("sqlite_query_of_texts", in_sqlite(TEXTS), query=QUERY),
    source("sqlite_view", in_sqlite(SQLITE_TYPED, view=True), sheet="open_claims"),
    source("duckdb_query", in_duckdb(TYPED), query=QUERY),
    source("duckdb_query_of_texts", in_duckdb(TEXTS), query=QUERY),
    source("duckdb_view", in_duckdb(TYPED, view=True), sheet="open_claims"),
]

# Folders, patterns, pipes --------------------------------------------------------------------------------------------


def parts(pattern: str = "") -> Callable[[Path], str]:
    """A folder with two rows in each file: one as German Excel writes it, one packed, its columns in another order."""

    def make(folder: Path) -> str:
        into = folder / "in"
        into.mkdir()
        first = {name: cells[:2] for name, cells in TEXTS.items()}
        last = {name: TEXTS[name][2:] for name in reversed(TEXTS)}
        (into / "01.csv").write_bytes(delimited(first, ";", "\r\n").encode("cp1252"))
        (into / "02.csv.zip").write_bytes(zipped("02.csv", delimited(last, ";").encode()))
        return str(into / pattern)

    return make


def piped(name: str, content: bytes) -> Case:
    return Case(f"pipe_{name}", COLUMNS, content, rows=4, piped=True)


FILES = [
    source("folder", parts(), "01.csv is not UTF-8, so cp1252 is assumed, which reads 'Süd' in line 3"),
    source("pattern", parts("0*.csv*")),
]
PIPES = [
    piped("parquet", in_parquet(pa.table(TYPED))),
    piped("parquet_of_texts", in_parquet(pa.table(TEXTS))),
    piped("csv", delimited(TEXTS, ";").encode()),
    piped("csv_of_excel", delimited(TEXTS, ";", "\r\n").encode("cp1252")),
]

CASES = [*WORKBOOKS, *DATABASES, *FILES, *PIPES]
