from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.codes import Field, Schema
from maskdiff.codes.windows import check_window, narrowed, ranges, window_spans
from maskdiff.errors import SettingError

from ..handmade import windows_of

SCHEMA = Schema((Field("text", "token", tuple("abcdefghij"), (5,) * 10),))


def rows_of(lengths):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 10, length) for length in lengths]


@given(st.integers(0, 60), st.integers(1, 12), st.data())
def test_windows_cover_a_row_from_its_first_to_its_last_token(length, max_length, data):
    overlap = data.draw(st.integers(0, max_length - 1))
    row, starts, ends = window_spans(np.array([length]), max_length=max_length, overlap=overlap)
    assert not row.any()
    assert starts[0] == 0
    assert ends[-1] == length
    assert all(end - start <= max_length for start, end in zip(starts, ends, strict=True))
    assert all(second + overlap <= end for second, end in zip(starts[1:], ends[:-1], strict=True))


@given(st.integers(1, 2000), st.integers(1, 100), st.data())
def test_windows_are_as_few_as_can_be_and_no_wider_than_their_overlap_needs(length, max_length, data):
    overlap = data.draw(st.integers(0, max_length - 1))
    _, starts, ends = window_spans(np.array([length]), max_length=max_length, overlap=overlap)
    n, shared = len(starts), (len(starts) - 1) * overlap
    assert n == 1 or (n - 1) * max_length - (n - 2) * overlap < length
    assert all(n * (end - start) < length + shared + 8 * n for start, end in zip(starts, ends, strict=True))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(1, 9), st.data())
def test_every_token_counts_exactly_once(lengths, max_length, data):
    overlap = data.draw(st.integers(0, max_length - 1))
    rows = rows_of(lengths)
    windows = windows_of(rows, SCHEMA, max_length=max_length, overlap=overlap)
    line, field = np.nonzero(windows.counts)
    assert windows.real[line, field].all()
    for number, row in enumerate(rows):
        here = windows.row[line] == number
        positions = windows.start[line[here]] + field[here]
        assert sorted(positions) == list(range(len(row)))
        assert windows.values[line[here], field[here]].tolist() == row[positions].tolist()
    assert windows.row_lengths.tolist() == lengths


@given(st.lists(st.integers(0, 40), max_size=6), st.integers(1, 9), st.data())
def test_rows_are_cut_each_as_if_it_were_alone(lengths, max_length, data):
    overlap = data.draw(st.integers(0, max_length - 1))
    row, start, _ = window_spans(np.array(lengths, dtype=np.int64), max_length=max_length, overlap=overlap)
    alone = [window_spans(np.array([n]), max_length=max_length, overlap=overlap)[1].tolist() for n in lengths]
    assert [start[row == number].tolist() for number in range(len(lengths))] == alone
    assert (np.diff(row) >= 0).all()


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 5)), max_size=6))
def test_ranges_are_runs_of_integers(runs):
    first, length = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    assert ranges(first, length).tolist() == [number for a, n in runs for number in range(a, a + n)]


def test_rows_are_taken_with_all_their_windows_and_numbered_anew():
    rows = rows_of([3, 20, 0, 9])
    windows = windows_of(rows, SCHEMA, max_length=8, overlap=4)
    taken = windows.take_rows(np.array([3, 1, 3, 2]))
    assert taken.row_lengths.tolist() == [9, 20, 9, 0]
    again = windows_of([rows[i] for i in (3, 1, 3, 2)], SCHEMA, max_length=8, overlap=4)
    for name in ("values", "real", "row", "start", "counted"):
        np.testing.assert_array_equal(getattr(taken, name), getattr(again, name))
    assert len(windows.take_rows(np.array([], dtype=np.int64))) == 0


def test_a_token_counts_in_the_window_where_it_is_furthest_from_an_edge():
    windows = windows_of(rows_of([20]), SCHEMA, max_length=8, overlap=4)
    for position in range(20):
        held = [(line, position - start) for line, start in enumerate(windows.start) if 0 <= position - start < 8]
        room = {line: min(at, 7 - at) for line, at in held}
        (counted,) = [line for line, at in held if windows.counts[line, at]]
        # The row's own ends are no edges: nothing is missing beyond them.
        if 4 <= position < 16:
            assert room[counted] >= max(room.values()) - 1


def test_a_row_without_tokens_is_one_line_of_padding():
    windows = windows_of(rows_of([3, 0]), SCHEMA, max_length=8, overlap=2)
    assert windows.row.tolist() == [0, 1]
    assert not windows.real[1].any()
    assert not windows.counts[1].any()
    assert windows.values.shape == (2, 3)


def test_rows_that_are_all_empty_still_have_a_width():
    windows = windows_of(rows_of([0, 0]), SCHEMA, max_length=8, overlap=2)
    assert windows.values.shape == (2, 1)
    assert windows.n_rows == 2


def test_padding_differs_from_unseen_and_from_every_code():
    windows = windows_of([[9, 10], [9]], SCHEMA, max_length=8, overlap=2)
    assert windows.values.tolist() == [[9, 10], [9, 11]]
    assert len(windows.distinct()[0]) == 2


def test_the_padding_code_fits_its_integers_even_where_unseen_takes_the_last_of_a_byte():
    schema = Schema((Field("text", "token", tuple(map(str, range(255))), (1,) * 255),))
    windows = windows_of([[255], []], schema, max_length=4, overlap=0)
    assert windows.values.tolist() == [[255], [256]]


def test_narrowed_codes_end_with_the_longest_row():
    windows = windows_of(rows_of([5, 2, 3]), SCHEMA, max_length=8, overlap=2)
    short = narrowed(windows.take([1, 2]))
    assert short.values.shape == (2, 3)
    assert short.real.tolist() == [[True, True, False], [True, True, True]]
    assert narrowed(windows.take([1])).real is None


@pytest.mark.parametrize(("max_length", "overlap"), [(0, 0), (4, 4), (4, -1), (2.5, 1), (4, None)])
def test_windows_that_would_not_move_on_are_refused(max_length, overlap):
    with pytest.raises(SettingError, match="max_length must be at least 1"):
        check_window(max_length, overlap)
