"""The same small table in every format that can be read: JSON, packed files, Parquet and Arrow."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from ..case import Case, Expected, delimited

TEXTS = {
    "region": ["Nord", "Süd", "Nord", "West"],
    "amount": ["1.234,50", "99,00", "NULL", "2.000,25"],
    "day": ["25.09.2024", "26.09.2024", "n/a", "30.09.2024"],
}
TYPED: dict[str, list[Any]] = {
    "region": ["Nord", "Süd", "Nord", "West"],
    "amount": [1234.5, 99.0, None, 2000.25],
    "day": [datetime(2024, 9, 25), datetime(2024, 9, 26), None, datetime(2024, 9, 30)],
}
COLUMNS = {
    "region": Expected("category", "Nord"),
    "amount": Expected("number", 1234.5),
    "day": Expected("date", datetime(2024, 9, 25)),
}


def case(name: str, content: bytes, ending: str, **reading: Any) -> Case:
    return Case(f"container_{name}", COLUMNS, content, ending, rows=4, reading=reading)


def records(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def in_json(columns: dict[str, list[Any]], *, lines: bool) -> bytes:
    rows = [json.dumps(row, default=lambda value: value.isoformat(), ensure_ascii=False) for row in records(columns)]
    return ("\n".join(rows) if lines else "[" + ",\n ".join(rows) + "]").encode()


def zipped(name: str, content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return out.getvalue()


def in_parquet(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def in_arrow(table: pa.Table) -> bytes:
    out = io.BytesIO()
    feather.write_feather(table, out, compression="uncompressed")
    return out.getvalue()


def decimals() -> pa.Table:
    """As a warehouse types its columns: decimals, days, a dictionary."""
    amounts = [None if amount is None else Decimal(str(amount)) for amount in TYPED["amount"]]
    days = pa.array(TYPED["day"], pa.timestamp("us")).cast(pa.date32())
    return pa.table({"region": pa.array(TYPED["region"]).dictionary_encode(), "amount": amounts, "day": days})


CSV = delimited(TEXTS, ";").encode()

CASES = [
    case("json_lines", in_json(TEXTS, lines=True), ".jsonl"),
    case("json_lines_typed", in_json(TYPED, lines=True), ".jsonl"),
    case("json_array", in_json(TEXTS, lines=False), ".json"),
    case("json_array_typed", in_json(TYPED, lines=False), ".json"),
    case("zip", zipped("export.csv", CSV), ".zip"),
    case("csv_zip", zipped("folder/export.csv", CSV), ".csv.zip"),
    case("gzip", gzip.compress(CSV), ".csv.gz"),
    case("parquet_texts", in_parquet(pa.table(TEXTS)), ".parquet"),
    case("parquet_typed", in_parquet(pa.table(TYPED)), ".parquet"),
    case("parquet_decimals", in_parquet(decimals()), ".parquet"),
    case("arrow_texts", in_arrow(pa.table(TEXTS)), ".arrow"),
]
