"""Quotes, delimiters, comments, line ends and encodings: files as they stand, byte for byte."""

from __future__ import annotations

from datetime import datetime

from ..case import Case, Expected, delimited, literal

CATEGORY, NUMBER, DATE = "category", "number", "date"
CITIES = {
    "city": ["Köln", "Zürich", "Köln", "Málaga"],
    "amount": ["1,5", "2,25", "3,75", "4,5"],
}
CITY_COLUMNS = {"city": Expected(CATEGORY, "Köln"), "amount": Expected(NUMBER, 1.5)}


def by_hand(file: str, rows: int, columns: dict[str, Expected], **reading: object) -> Case:
    name, _, ending = file.partition(".")
    return Case(name, columns, literal(file), f".{ending}", rows=rows, reading=reading)


def encoded(name: str, content: bytes, notice: str | None = None) -> Case:
    return Case(f"encoding_{name}", CITY_COLUMNS, content, rows=4, notice=notice)


def text(line_end: str = "\n") -> str:
    return delimited(CITIES, ";", line_end)


QUOTES = [
    by_hand(
        "stray_quote.tsv",
        8,
        {"id": Expected(NUMBER, 1), "message": Expected(CATEGORY, "see you at 5"), "label": Expected(CATEGORY, "ham")},
    ),
    by_hand(
        "all_quoted.csv",
        4,
        {"name": Expected(CATEGORY, "Smith, John"), "amount": Expected(NUMBER, 1234.5), "city": Expected(CATEGORY)},
    ),
    by_hand(
        "line_ends_in_cells.csv",
        4,
        {
            "ticket": Expected(NUMBER, 11),
            "text": Expected(CATEGORY, "first line\nsecond line"),
            "priority": Expected(CATEGORY, "high"),
        },
    ),
    by_hand(
        "single_quotes.csv",
        3,
        {
            "name": Expected(CATEGORY, "Smith, John"),
            "city": Expected(CATEGORY, "Leeds"),
            "amount": Expected(NUMBER, 10),
        },
        quote="'",
    ),
]

LAYOUTS = [
    by_hand(
        "pipes.txt",
        3,
        {"region": Expected(CATEGORY, "North"), "amount": Expected(NUMBER, 12.5), "day": Expected(DATE)},
        format="csv",
    ),
    by_hand(
        "comments.csv",
        4,
        {"time": Expected(NUMBER, 0.1), "voltage": Expected(NUMBER, 3.31), "mode": Expected(CATEGORY, "auto")},
    ),
    by_hand(
        "no_header.csv",
        6,
        {
            "column_1": Expected(NUMBER, 5.1),
            "column_2": Expected(NUMBER, 3.5),
            "column_3": Expected(NUMBER, 1.4),
            "column_4": Expected(CATEGORY, "setosa"),
        },
    ),
    by_hand("blank_lines.csv", 3, {"region": Expected(CATEGORY, "North"), "amount": Expected(NUMBER, 12.5)}),
    by_hand(
        "trailing_delimiters.csv",
        4,
        {"Konto": Expected(NUMBER, 4711), "Betrag": Expected(NUMBER, 12.5), "Text": Expected(CATEGORY, "Miete")},
    ),
    by_hand(
        "excel_sep_line.csv",
        3,
        {
            "Region": Expected(CATEGORY, "Nord"),
            "Umsatz": Expected(NUMBER, 1234.5),
            "Monat": Expected(DATE, datetime(2024, 9, 1)),
        },
    ),
    by_hand(
        "padded_columns.csv",
        3,
        {
            "region": Expected(CATEGORY, "North     "),
            "amount": Expected(NUMBER, 12.5),
            "day": Expected(DATE, datetime(2024, 9, 25)),
        },
    ),
    by_hand(
        "tabs.tsv",
        3,
        {"sensor": Expected(CATEGORY, "A"), "value": Expected(NUMBER, 1.5), "ok": Expected("boolean", True)},
    ),
]

ENCODINGS = [
    encoded("utf8", text().encode()),
    encoded("utf8_bom", text().encode("utf-8-sig")),
    encoded("utf16", text().encode("utf-16")),
    encoded("utf16_without_mark", text().encode("utf-16-le"), "utf-16-le is assumed"),
    encoded("cp1252", text().encode("cp1252"), "cp1252 is assumed"),
    encoded("latin1_windows_line_ends", text("\r\n").encode("latin-1"), "cp1252 is assumed"),
    encoded("windows_line_ends", text("\r\n").encode()),
    encoded("old_mac_line_ends", text("\r").encode()),
    encoded("no_last_line_end", text().rstrip("\n").encode()),
]

ROWS = text().split("\n", 1)[1]


def odd(name: str, content: str, ending: str = ".csv", notice: str | None = None) -> Case:
    return Case(f"layout_{name}", CITY_COLUMNS, content.encode(), ending, rows=4, notice=notice)


ODD_LINES = [
    odd("header_once_more", text().replace("Köln;3,75", "city;amount\nKöln;3,75")),
    odd("delimiters_alone", text() + ";\n;\n"),
    odd("delimiter_too_many", "city;amount\n" + ROWS.replace("\n", ";\n")),
    odd("tabs_named_xls", text().replace(";", "\t"), ".xls", "is named like excel, but holds csv"),
    Case(
        "layout_titles",
        {**CITY_COLUMNS, "by": Expected(CATEGORY, "A")},
        ("Umsatz im Mai\n\ncity;amount;by\n" + ROWS.replace("\n", ";A\n")).encode(),
        rows=4,
        notice="lines above the header left out: 1 (Umsatz im Mai)",
    ),
]

CASES = [*QUOTES, *LAYOUTS, *ENCODINGS, *ODD_LINES]
