"""Columns as texts to be written: what a person would read, and nothing a spreadsheet would run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

# A cell that starts so is a formula to a spreadsheet, unless it is a number.
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _floats(array: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array).cast(pa.large_string())


def _one_by_one(array: pa.Array) -> pa.Array:
    cells = [None if cell is None else _text(cell) for cell in array.to_pylist()]
    return pa.array(cells, pa.large_string())


def _text(cell: Any) -> str:
    if isinstance(cell, list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return cell.decode("utf-8", "backslashreplace") if isinstance(cell, bytes) else str(cell)


_WRITINGS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]], ...] = (
    (pat.is_floating, _floats),
    (
        lambda data_type: any(
            fits(data_type) for fits in (pat.is_nested, pat.is_duration, pat.is_binary, pat.is_large_binary)
        ),
        _one_by_one,
    ),
    (lambda data_type: pat.is_fixed_size_binary(data_type) or pat.is_interval(data_type), _one_by_one),
    (lambda data_type: True, lambda array: array.cast(pa.large_string())),
)


def as_texts(array: pa.Array) -> pa.Array:
    """Each cell's text, null where it is missing."""
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    return next(write(array) for fits, write in _WRITINGS if fits(array.type))


def defused(texts: pa.Array) -> pa.Array:
    """The same with an apostrophe before what a spreadsheet would take for a formula; numbers stay numbers.

    >>> defused(pa.array(["=1+1", "-5", "-a", "x"])).to_pylist()
    ["'=1+1", '-5', "'-a", 'x']
    """
    formula = pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _NUMBER))
    apostrophe, nothing = (pa.scalar(text, texts.type) for text in ("'", ""))
    return pc.if_else(formula, pc.binary_join_element_wise(apostrophe, texts, nothing), texts)
