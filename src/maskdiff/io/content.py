"""The format that the first bytes of a file or a pipe say: names of files are often wrong, and pipes have none."""

from __future__ import annotations

import codecs
import sys
import warnings
from pathlib import Path
from typing import Any, cast

from maskdiff.errors import InputError, ReadingWarning

# What files of each format begin with.
_BINARY = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "excel",
    b"\xd0\xcf\x11\xe0": "excel",  # .xls of Excel 97 to 2003
    b"SQLite format 3": "sql",
}
_PIPED = {**_BINARY, b"\xff\xff\xff\xff": "arrow", b"{": "jsonl", b"[": "json"}
_TEXT = ("csv", "jsonl", "json", "lines")
_LONGEST = 16


def piped_format() -> str:
    """What standard input begins with, CSV if nothing else; it will still be read."""
    head = cast(Any, sys.stdin.buffer).peek(_LONGEST)
    return _begins(head.removeprefix(codecs.BOM_UTF8), _PIPED) or "csv"


def format_of_content(path: str, named: str) -> str:
    """The format of a file that is named like this one, with a warning where it is another.

    Programs write workbooks, web pages and texts with tabs under the name .xls, and people rename .xlsx to .csv.
    """
    if not Path(path).is_file():
        return named
    with open(path, "rb") as file:
        head = file.read(_LONGEST)
    found = _begins(head, _BINARY)
    if named == "excel" and found is None:
        found = _of_text(head, path)
    if found in (None, named) or (found != "csv" and named not in _TEXT):
        return named
    message = f"{path} is named like {named}, but holds {found}, and is read as such."
    warnings.warn(ReadingWarning(message, setting="format"), stacklevel=2)
    return str(found)


def _of_text(head: bytes, path: str) -> str | None:
    if head.lstrip().startswith(b"<"):
        raise InputError(f"{path} is a web page under the name of a workbook. Open it in Excel, and save it as .xlsx.")
    is_text = head.startswith(codecs.BOM_UTF16_LE) or (head and min(head) >= ord("\t"))
    return "csv" if is_text else None


def _begins(head: bytes, formats: dict[bytes, str]) -> str | None:
    return next((name for magic, name in formats.items() if head.startswith(magic)), None)
