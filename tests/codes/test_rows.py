"""Codes: rows of a table and rows of tokens."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from maskdiff.codes import Codes, Field, Schema
from maskdiff.codes.windows import narrowed

from ..handmade import windows_of

TOKENS = Schema((Field("text", "token", tuple("abc"), (5, 5, 5)),))
ONE_COLUMN = Schema((Field("a", "category", tuple("abc"), (5, 5, 5)),))
TWO_COLUMNS = Schema((ONE_COLUMN.fields[0], Field("b", "category", tuple("xy"), (5, 5))))


@pytest.mark.parametrize("lengths", [(3, 1), (2, 2), (1, 1), (0,)], ids=str)
def test_rows_cut_into_windows_are_tokens(lengths: tuple[int, ...]) -> None:
    rows = windows_of([[0] * n for n in lengths], TOKENS, max_length=5, overlap=1)
    assert rows.is_tokens
    assert rows.lengths.tolist() == list(lengths)


def test_tokens_without_padding_are_still_tokens() -> None:
    rows = narrowed(windows_of([[0, 0]] * 3, TOKENS, max_length=5, overlap=1))
    assert rows.real is None
    assert rows.is_tokens
    assert rows.lengths.tolist() == [2, 2, 2]


def test_a_value_never_seen_is_new_where_values_come_again_and_beyond_the_range_anywhere() -> None:
    name = Field("name", "category", tuple("abcdef"), (1,) * 5 + (3,), singletons=5)
    schema = Schema((ONE_COLUMN.fields[0], name))
    codes = Codes(np.array([[0, 0], [3, 0], [0, 6], [3, 6]]), schema)
    assert codes.is_new.tolist() == [[False, False], [True, False], [False, False], [True, False]]
    beyond = Codes(codes.values, schema, excess=np.array([[0.0, 0.0]] * 3 + [[0.0, 0.7]]))
    assert beyond.is_new.tolist()[3] == [True, True]


@pytest.mark.parametrize("schema", [ONE_COLUMN, TWO_COLUMNS], ids=["one column", "two columns"])
def test_rows_of_a_table_are_not_tokens(schema: Schema) -> None:
    rows = Codes(np.zeros((4, len(schema)), np.uint8), schema)
    assert not rows.is_tokens
    assert rows.lengths.tolist() == [len(schema)] * 4


def test_equal_rows_are_found_with_their_number() -> None:
    rows = Codes(np.array([[0, 1], [2, 0], [0, 1]]), TWO_COLUMNS)
    distinct, place, counts = rows.distinct()
    assert distinct.values[place].tolist() == rows.values.tolist()
    assert sorted(counts.tolist()) == [1, 2]


def test_how_far_beyond_the_range_tells_rows_apart() -> None:
    rows = Codes(np.array([[2, 1], [2, 1], [2, 1]]), TWO_COLUMNS, excess=np.array([[0.5, 0], [1.5, 0], [0.5, 0]]))
    distinct, place, counts = rows.distinct()
    assert distinct.excess is not None
    assert distinct.excess[place].tolist() == [[0.5, 0], [1.5, 0], [0.5, 0]]
    assert sorted(counts.tolist()) == [1, 2]
    assert len(rows.without_excess().distinct()[0]) == 1


def test_padding_tells_rows_apart() -> None:
    values = np.zeros((2, 2), np.int64)
    rows = Codes(values, TOKENS, np.array([[True, True], [True, False]]))
    assert len(rows.distinct()[0]) == 2


def test_equal_rows_are_looked_for_once_and_what_was_found_is_not_written_down() -> None:
    schema = Schema((Field("pet", "category", ("cat", "dog"), (2, 1)),))
    codes = Codes(np.array([[0], [2], [0]]), schema, excess=np.array([[0.0], [1.5], [0.0]]))
    bare = codes.without_excess()
    assert bare is codes.without_excess()
    assert all(found is again for found, again in zip(bare.distinct(), bare.distinct(), strict=True))
    stored = pickle.loads(pickle.dumps(codes))
    assert set(vars(stored)) == {"values", "schema", "real", "excess", "texts"}
    np.testing.assert_array_equal(stored.without_excess().distinct()[1], bare.distinct()[1])
