from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.errors import EmptyTableError, InputError, ModelFileError, SettingError, UnknownColumnError

NORMAL = [["open", "read", "close"], ["open", "close"], ["open", "read", "read", "close"]]


def rows_back(encoder, windows):
    """The symbols of each row, read back from its codes; None where unseen."""
    symbols = [*encoder.symbols_, None]
    return [
        [symbols[code] for code in values[counts]]
        for values, counts in zip(windows.values, windows.counts, strict=True)
    ]


def test_the_alphabet_is_what_normal_rows_hold_with_its_counts():
    alphabet = SequenceEncoder().fit(NORMAL).schema_.fields[0]
    assert dict(zip(alphabet.labels, alphabet.counts, strict=True)) == {"open": 3, "close": 3, "read": 3}
    assert alphabet.name == "sequence"


def test_codes_stand_for_the_symbols_in_their_order():
    encoder = SequenceEncoder().fit(NORMAL)
    assert rows_back(encoder, encoder.encode(NORMAL)) == NORMAL


def test_a_symbol_that_normal_rows_did_not_hold_is_unseen():
    encoder = SequenceEncoder().fit(NORMAL)
    windows = encoder.encode([["open", "delete", "close"]])
    assert windows.known.tolist() == [[True, False, True]]
    assert windows.values[0, 1] == len(encoder.symbols_)


def test_the_alphabet_does_not_depend_on_the_order_of_rows():
    assert SequenceEncoder().fit(NORMAL).symbols_ == SequenceEncoder().fit(NORMAL[::-1]).symbols_


@pytest.mark.parametrize(
    "rows",
    [
        NORMAL,
        tuple(map(tuple, NORMAL)),
        [np.array(row) for row in NORMAL],
        np.array([np.array(row, dtype=object) for row in NORMAL], dtype=object),
        pd.Series(NORMAL),
        pl.Series(NORMAL),
        pa.array(NORMAL),
        pa.chunked_array([pa.array(NORMAL[:1]), pa.array(NORMAL[1:])]),
        pd.DataFrame({"events": NORMAL}),
        pl.DataFrame({"events": NORMAL}),
        pa.table({"events": NORMAL}),
        pa.RecordBatch.from_pydict({"events": NORMAL}),
    ],
    ids=lambda rows: f"{type(rows).__module__}.{type(rows).__name__}",
)
def test_every_way_to_hand_in_rows_gives_the_same_codes(rows):
    encoder = SequenceEncoder().fit(NORMAL)
    assert rows_back(encoder, encoder.encode(rows)) == NORMAL


def test_a_matrix_of_symbols_is_one_row_each():
    encoder = SequenceEncoder().fit(np.array([[3, 1], [1, 3]]))
    assert encoder.symbols_ == [1, 3]
    assert encoder.encode(np.array([[1, 1]])).values.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("separator", "text", "symbols"),
    [
        (" ", " open  read close ", ["open", "read", "close"]),
        (",", "a,,b", ["a", "", "b"]),
        ("", "CCO", ["C", "C", "O"]),
        (" ", "", []),
        (",", "", []),
    ],
)
def test_strings_are_split_by_the_separator(separator, text, symbols):
    assert SequenceEncoder(separator).tokenize([text]).symbols.tolist() == symbols


def test_with_a_separator_lists_are_still_taken_as_they_are():
    assert SequenceEncoder(" ").tokenize([["a b", "c"]]).symbols.tolist() == ["a b", "c"]


def test_a_plain_string_among_lists_is_refused_with_the_ways_out():
    with pytest.raises(InputError, match=r"row 1 is a plain string, 'open read'.*separator=\" \".*TextDetector"):
        SequenceEncoder().fit([["open"], "open read"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (7, "row 1 is no list of symbols but of type int"),
        ({"a": 1}, "of type dict"),
        ({"a", "b"}, "of type set"),
        (b"abc", "of type bytes"),
        (["a", ["b"]], "row 1 holds at position 1 a list"),
        (["a", {"b": 1}], "at position 1 a dict"),
    ],
)
def test_rows_that_are_no_lists_of_symbols_are_refused_by_their_number(row, message):
    with pytest.raises(InputError, match=message):
        SequenceEncoder().fit([["a"], row])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT, []])
def test_a_missing_row_has_no_tokens(missing):
    encoder = SequenceEncoder().fit([*NORMAL, missing])
    windows = encoder.encode([["open"], missing])
    assert windows.row_lengths.tolist() == [1, 0]


def test_missing_symbols_are_one_symbol():
    encoder = SequenceEncoder().fit([["a", None], ["a", float("nan")], ["a", pd.NA]])
    assert set(encoder.symbols_) == {"a", None}


def test_symbols_of_numpy_are_those_of_python():
    encoder = SequenceEncoder().fit([[np.int64(3), np.str_("x")]])
    assert encoder.encode([[3, "x"]]).known.all()


@pytest.mark.parametrize("X", ["open read", b"x", {"a": [1]}, 3])
def test_something_that_holds_no_rows_is_refused(X):
    with pytest.raises(InputError, match="one list of symbols per row"):
        SequenceEncoder().fit(X)


@pytest.mark.parametrize("rows", [[], [[]], [None, []]])
def test_nothing_to_learn_from_is_refused(rows):
    with pytest.raises(EmptyTableError):
        SequenceEncoder().fit(rows)


def test_of_a_table_the_named_column_is_read():
    table = pd.DataFrame({"id": [1, 2, 3], "events": NORMAL})
    encoder = SequenceEncoder(column="events").fit(table)
    assert encoder.schema_.fields[0].name == "events"
    assert encoder.named_
    with pytest.raises(UnknownColumnError, match="say which one"):
        SequenceEncoder().fit(table)
    with pytest.raises(UnknownColumnError, match="no column 'event'"):
        SequenceEncoder(column="event").fit(table)


def test_a_separator_that_is_no_string_is_refused():
    with pytest.raises(SettingError, match="separator must be a string"):
        SequenceEncoder(1).fit([["a"]])


def test_symbols_are_shown_as_they_were_handed_in():
    encoder = SequenceEncoder().fit([[1, ("a", 2), None]])
    assert encoder.display([[1, ("a", 2)], [None]], rows=[0, 1, 0], positions=[1, 0, 0]) == ["('a', 2)", "None", "1"]


@given(st.lists(st.lists(st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers(), st.none())))))
def test_every_symbol_is_found_at_its_span(rows):
    tokens = SequenceEncoder().tokenize(rows)
    row = np.repeat(np.arange(len(rows)), tokens.lengths)
    assert tokens.slices(row, tokens.offsets) == [str(symbol) for symbols in rows for symbol in symbols]
    assert [len(text) for text in tokens.texts] == [sum(len(str(s)) + 1 for s in row) - 1 if row else 0 for row in rows]


def test_an_encoder_comes_back_from_its_state():
    rows = [["open", 1, 2.5, True, None, ("a", (1, None))], ["open"]]
    encoder = SequenceEncoder(" ", max_length=3, overlap=1).fit(rows)
    state = json.loads(json.dumps(encoder.to_state()))
    again = SequenceEncoder.from_state(state)
    assert again.schema_ == encoder.schema_
    assert again.to_state() == encoder.to_state()
    assert (again.encode(rows).values == encoder.encode(rows).values).all()


@pytest.mark.parametrize("symbol", [frozenset("a"), float("inf"), 1j])
def test_symbols_that_json_cannot_hold_cannot_be_saved(symbol):
    encoder = SequenceEncoder().fit([[symbol, "a"]])
    with pytest.raises(SettingError, match="cannot be saved"):
        encoder.to_state()


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.pop("symbols"),
        lambda state: state.update(counts=[1]),
        lambda state: state.update(counts=[0, 0, 0]),
        lambda state: state.update(symbols=["a", "a", "b"]),
        lambda state: state.update(symbols=5),
        lambda state: state["settings"].update(colour=1),
    ],
)
def test_a_damaged_state_is_refused(damage):
    state = SequenceEncoder().fit(NORMAL).to_state()
    damage(state)
    with pytest.raises(ModelFileError):
        SequenceEncoder.from_state(state)
