"""All cases, by theme."""

from __future__ import annotations

from .case import Case
from .cases import booleans, containers, dates, exports, keys, missing, numbers, sources, texts

# Tables of texts, which any format can hold.
TABLES: list[Case] = [*numbers.CASES, *missing.CASES, *dates.CASES, *keys.CASES, *booleans.CASES]
CASES: list[Case] = [*TABLES, *texts.CASES, *exports.CASES, *containers.CASES, *sources.CASES]
