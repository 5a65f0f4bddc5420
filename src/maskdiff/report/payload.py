"""The kept rows as compact data for the page's script: JSON, compressed.

Every column has its distinct texts once (`texts`), and rows refer to them by place. Rows are in order of their scores.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.explanations.oddities import ODDITIES
from maskdiff.explanations.shading import Piece
from maskdiff.report.alarms import Alarm, ExplainedCell
from maskdiff.report.formatting import display_value, p_value
from maskdiff.report.groups import Grouping
from maskdiff.report.marks import Mark
from maskdiff.report.nearest import NormalRow

# One letter per cell for its shade, from none to full.
SHADES = "0123456789ABCDEF"


class TextPool:
    """Distinct texts in order of their first use."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    @property
    def texts(self) -> list[str]:
        return list(self.places)


def payload(
    rows: Sequence[Alarm],
    columns: Sequence[str],
    context: Sequence[str],
    grouping: Grouping,
    nearest: Sequence[Sequence[NormalRow]] = (),
) -> dict[str, Any]:
    """The data of the page's script, as plain lists; `nearest` are the normal rows nearest to the first rows."""
    pools, context_pools, p_values = [TextPool() for _ in columns], [TextPool() for _ in context], TextPool()
    row_cells = [_places(pools, row.values) for row in rows if row.values is not None]
    context_cells = [_places(context_pools, row.context) for row in rows]
    explained = [(i, j, cell) for i, row in enumerate(rows) for j, cell in enumerate(row.cells)]
    oddities = ("", *ODDITIES)
    full = full_shade([row for row in rows if row.is_alarm] or rows)
    return {
        "number": [row.number for row in rows],
        "score": [round(row.score, 3) for row in rows],
        "p": [p_values.place(p_value(row.p_value)) for row in rows],
        "pTexts": p_values.texts,
        "cells": [[part for cell in row.cells for part in _cell(cell, pools[cell.field])] for row in rows],
        "notes": [[i, j, cell.note] for i, j, cell in explained if cell.note],
        "contradicts": [[i, j, cell.contradicts] for i, j, cell in explained if cell.contradicts],
        "pieces": [[i, j, [_piece(one) for one in cell.pieces]] for i, j, cell in explained if cell.pieces],
        "oddity": [oddities.index(row.oddity) for row in rows],
        "oddities": list(oddities),
        "whole": [[at, round(row.whole, 3)] for at, row in enumerate(rows) if row.whole is not None],
        "shade": [shades(row.shares / full) for row in rows if row.shares is not None],
        "full": round(100 * full, 2),
        "more": [[at, list(row.more_odd)] for at, row in enumerate(rows) if row.more_odd],
        "marks": [[n for mark in row.marks for n in _mark(mark)] for row in rows if row.marks is not None],
        "nearest": [[_differences(normal, pools) for normal in found] for found in nearest],
        "group": list(grouping.group_of),
        "pattern": list(grouping.pattern_of),
        "columns": _columns(columns, pools, row_cells),
        "context": _columns(context, context_pools, context_cells),
    }


def _differences(normal: NormalRow, pools: Sequence[TextPool]) -> list[int]:
    """Where a normal row differs, as pairs of a column and a value."""
    return [part for field, label in normal.differences for part in (field, pools[field].place(label))]


def _cell(cell: ExplainedCell, pool: TextPool) -> tuple[float, ...]:
    """A cell as six numbers: column, value, share, expected value, probability, flags; shares in thousandths."""
    flags = 1 * cell.odd + 2 * cell.unseen + 4 * cell.as_expected
    return (
        cell.field,
        pool.place(cell.value),
        thousandths(cell.share),
        pool.place(cell.expected),
        thousandths(cell.probability),
        flags,
    )


def _piece(piece: Piece) -> tuple[str, int]:
    """A piece of a text in a cell, and its strength in hundredths."""
    return piece.text, round(100 * piece.strength)


def _mark(mark: Mark) -> tuple[int, int, int]:
    """A piece of a text as three numbers: its length in UTF-16 units, its strength in hundredths, its cell."""
    return len(mark.text.encode("utf-16-le", "surrogatepass")) // 2, round(100 * mark.strength), mark.cell


def thousandths(share: float) -> float:
    """Rounded as `percent` does; shares other than 0 and 1 do not become exactly 0 or 1000.

    >>> thousandths(0.4476), thousandths(0.0001), thousandths(0.9999)
    (448, 0.4, 999.6)
    """
    rounded = math.floor(1000 * share + 0.5)
    return 0.4 if rounded <= 0 < share else 999.6 if rounded >= 1000 > 1000 * share else rounded


def _places(pools: Sequence[TextPool], texts: Sequence[str]) -> list[int]:
    return [pool.place(text) for pool, text in zip(pools, texts, strict=True)]


def _columns(
    names: Sequence[str], pools: Sequence[TextPool], rows: Sequence[Sequence[int]]
) -> list[dict[str, str | list[str] | list[int]]]:
    """Each column with its texts and, for each row, the place of its text."""
    return [
        {"name": display_value(name), "texts": pool.texts, "at": [row[column] for row in rows]}
        for column, (name, pool) in enumerate(zip(names, pools, strict=True))
    ]


def full_shade(alarms: Sequence[Alarm]) -> float:
    """The share with the strongest shade: the upper quartile of the largest share of each alarm.

    In a table with a thousand columns no cell contributes half of a score, and a tenth is already much.
    """
    strongest = [alarm.cells[0].share for alarm in alarms if alarm.cells]
    return max(0.001, float(np.percentile(strongest, 75))) if strongest else 1.0


def shades(shares: FloatArray) -> str:
    """One letter per cell; shares above 1 have the shade of 1.

    >>> shades(np.array([0.0, 0.5, 1.0]))
    '08F'
    """
    steps = len(SHADES) - 1
    return "".join(SHADES[step] for step in (shares * steps).round().clip(0, steps).astype(int).tolist())


def digest(data: Any) -> str:
    """A short name for this data, under which a browser keeps what a reader has reviewed."""
    return hashlib.sha256(as_json(data)).hexdigest()[:16]


def packed(data: Any) -> str:
    """The data as compressed JSON in base64: nothing in it can be markup.

    >>> json.loads(gzip.decompress(base64.b64decode(packed(["</script>"]))))
    ['</script>']
    """
    return base64.b64encode(gzip.compress(as_json(data), mtime=0)).decode()


def as_json(data: Any) -> bytes:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a surrogate pair, which UTF-8 cannot encode, becomes an escape of JSON.
    return text.encode("utf-8", "backslashreplace")
