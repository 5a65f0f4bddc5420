"""The kept alarms as compact JSON for the page's script.

Every column has its distinct texts once (`texts`), and rows point into them. The rows come in order of their scores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from maskdiff.codes import FloatArray
from maskdiff.report.alarms import Alarm, ExplainedCell
from maskdiff.report.formatting import display_value, p_value
from maskdiff.report.groups import Grouping
from maskdiff.report.marks import Mark

# One letter per cell says how strongly it is shaded.
SHADES = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Pool:
    """Distinct texts in order of their first use."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))

    @property
    def texts(self) -> list[str]:
        return list(self.places)


def payload(alarms: Sequence[Alarm], columns: Sequence[str], context: Sequence[str], grouping: Grouping) -> Any:
    """All that the script needs, as plain lists."""
    pools, context_pools, p_values = [Pool() for _ in columns], [Pool() for _ in context], Pool()
    whole = [[pool.place(v) for pool, v in zip(pools, a.values, strict=True)] for a in alarms if a.values is not None]
    held = [[pool.place(v) for pool, v in zip(context_pools, a.context, strict=True)] for a in alarms]
    full = full_shade(alarms)
    return {
        "number": [alarm.number for alarm in alarms],
        "score": [round(alarm.score, 3) for alarm in alarms],
        "p": [p_values.place(p_value(alarm.p_value)) for alarm in alarms],
        "pTexts": p_values.texts,
        "cells": [[part for cell in alarm.cells for part in _cell(cell, pools[cell.field])] for alarm in alarms],
        "shade": [shades(alarm.shares / full) for alarm in alarms if alarm.shares is not None],
        "full": round(100 * full, 2),
        "more": [[at, more] for at, alarm in enumerate(alarms) if (more := alarm.n_odd - len(alarm.odd_cells))],
        "marks": [[n for mark in alarm.marks for n in _mark(mark)] for alarm in alarms if alarm.marks is not None],
        "group": list(grouping.group_of),
        "pattern": list(grouping.pattern_of),
        "columns": [_column(name, pool, whole, at) for at, (name, pool) in enumerate(zip(columns, pools, strict=True))],
        "context": [
            _column(name, pool, held, at) for at, (name, pool) in enumerate(zip(context, context_pools, strict=True))
        ],
    }


def _cell(cell: ExplainedCell, pool: Pool) -> tuple[float, ...]:
    """A cell as six numbers: column, value, share and probability in thousandths, expected value, marks."""
    marks = 1 * cell.odd + 2 * cell.unseen + 4 * cell.as_expected
    return (
        cell.field,
        pool.place(cell.value),
        thousandths(cell.share),
        pool.place(cell.expected),
        thousandths(cell.probability),
        marks,
    )


def _mark(mark: Mark) -> tuple[int, int, int]:
    """A piece of a text as three numbers: its length as scripts count it, its strength in hundredths, its cell."""
    return len(mark.text.encode("utf-16-le", "surrogatepass")) // 2, round(100 * mark.strength), mark.cell


def thousandths(share: float) -> float:
    """Rounded as `percent` does; what is not exactly 0 or 1 stays apart from it.

    >>> thousandths(0.4476), thousandths(0.0001), thousandths(0.9999)
    (448, 0.4, 999.6)
    """
    rounded = math.floor(1000 * share + 0.5)
    return 0.4 if rounded <= 0 < share else 999.6 if rounded >= 1000 > 1000 * share else rounded


def _column(name: str, pool: Pool, rows: Sequence[Sequence[int]], at: int) -> dict[str, Any]:
    return {"name": display_value(name), "texts": pool.texts, "at": [row[at] for row in rows]}


def full_shade(alarms: Sequence[Alarm]) -> float:
    """The share that is shaded most: one that a quarter of the strongest cells reach.

    With a thousand columns no cell carries half of a score, and one that carries a tenth is still the culprit.
    """
    strongest = [alarm.cells[0].share for alarm in alarms if alarm.cells]
    return max(0.001, float(np.percentile(strongest, 75))) if strongest else 1.0


def shades(shares: FloatArray) -> str:
    """One letter per cell; shares beyond 1 are as strong as 1.

    >>> shades(np.array([0.0, 0.5, 1.0]))
    '0Uz'
    """
    steps = len(SHADES) - 1
    return "".join(SHADES[step] for step in (shares * steps).round().clip(0, steps).astype(int).tolist())


def script_json(value: Any) -> str:
    """JSON that can stand inside a <script> element: nothing in it ends the element or starts a comment.

    >>> script_json(["</script>", "<!--"])
    '["\\\\u003c/script\\\\u003e","\\\\u003c!--"]'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
