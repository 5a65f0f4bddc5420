"""Which columns are free text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from maskdiff.encoders.table.column_types import COLUMN_TYPES
from maskdiff.encoders.table.column_types.texts import n_words
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.recognition import TextRecognition
from maskdiff.encoders.table.text_cells import TextCells, token_spans

SENTENCES = [f"the driver number {i} reports a broken lamp" for i in range(60)]


def recognised(*batches: list[str | None]) -> str:
    recognition = TextRecognition("note")
    for batch in batches:
        recognition.add(pa.array(batch, pa.large_string()))
    return recognition.found()[0].column_type.name


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (SENTENCES, "text"),
        ([*SENTENCES, *["ok"] * 50], "text"),
        ([*SENTENCES, *["ok"] * 70], "category"),
        ([*SENTENCES, *[None] * 500], "text"),
        (SENTENCES[:19], "category"),
        (SENTENCES[:3] * 40, "category"),
        ([f"id{i}" for i in range(60)], "category"),
        ([f"123e4567-e89b-12d3-a456-{i:012}" for i in range(60)], "category"),
        ([f"{i} 2 3 4 5 6" for i in range(60)], "category"),
        ([f"車が動かない。修理を{i}お願いします" for i in range(60)], "text"),
        ([f"2024-01-{i % 28 + 1:02} 10:00:00" for i in range(60)], "date"),
    ],
)
def test_cells_that_are_long_and_mostly_different_are_text(cells: list[str | None], found: str) -> None:
    assert recognised(cells) == found
    assert recognised(cells[:7], cells[7:]) == found


def test_words_are_counted_alike_whatever_stands_in_other_cells() -> None:
    cells = ["", " a  b2 ", "3f2b-99d2", "it's 7 o'clock", "x\ty\nz", "12 -- 7", "A.B. c"]
    alone, beside = (n_words(pa.array(texts, pa.large_string())) for texts in (cells, [*cells, "é"]))
    assert alone.tolist() == beside[:-1].tolist() == [0, 2, 1, 2, 3, 0, 2]


def test_recognitions_of_parts_merge() -> None:
    first, second = TextRecognition("note"), TextRecognition("note")
    first.add(pa.array(SENTENCES[:15], pa.large_string()))
    second.add(pa.array(SENTENCES[15:], pa.large_string()))
    first.merge(second)
    assert first.found()[0].column_type.name == "text"


def test_after_many_short_cells_no_more_are_looked_at() -> None:
    recognition = TextRecognition("colour", COLUMN_TYPES["text"])
    recognition.add(pa.array(["red", "blue"] * 6000, pa.large_string()))
    assert recognition.settled


def test_all_texts_have_one_code_and_missing_ones_another() -> None:
    encoder = TableEncoder(columns={"x0": "text"}).fit([[text, "a"] for text in SENTENCES] + [[None, "b"]])
    assert encoder.schema_.fields[0].labels == ("text", "missing")
    assert encoder.encode([["anything at all", "a"], [None, "a"]]).values[:, 0].tolist() == [0, 1]


def test_long_texts_are_cut_where_they_are_shown() -> None:
    encoder = TableEncoder(columns={"x0": "text"}).fit([[text, "a"] for text in SENTENCES])
    (shown,) = encoder.display([["word " * 2000, "a"]], rows=[0], fields=[0])
    assert len(shown) < 250


def test_tokens_are_lower_case_with_all_digits_alike() -> None:
    tokens = TextCells(pa.array(["Glass broke, 20 EUR", None, "don't"], pa.large_string())).tokens()
    assert tokens.distinct.take(tokens.place).to_pylist() == ["glass", "broke", ",", "00", "eur", "don't"]
    assert tokens.row.tolist() == [0, 0, 0, 0, 0, 2]


SIGNS = [
    "Glass broke, 20 EUR",
    "  \u0130stanbul  ",
    "車が動 かない",
    "🚗💥a\u00a0b\u2003c",
    "\u00e9\u0301 x\x1cy",
    "",
    "ß ǅ ﬁ",
]


@pytest.mark.parametrize("text", SIGNS)
def test_spans_cover_all_of_a_text_but_spaces(text: str) -> None:
    tokens = TextCells(pa.array([text], pa.large_string())).tokens()
    found = tokens.distinct.take(tokens.place).to_pylist()
    spans = token_spans(text, found)
    covered = "".join(text[start:end] for start, end in spans)
    assert len(covered.replace(" ", "")) == sum(map(len, found))


def test_parts_of_many_texts_are_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskdiff.encoders.table.text_cells._AT_ONCE", 100)
    cells = TextCells(pa.array([*SENTENCES[:9], None, "x" * 500], pa.large_string()))
    parts = list(cells.parts())
    assert len(parts) > 3
    assert np.concatenate([np.arange(11)[here] for here, _ in parts]).tolist() == list(range(11))
