"""NearestRows against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maskdiff.codes import Codes, Field, Schema, schema_places
from maskdiff.evidence import nearest_loops, nearest_rows
from maskdiff.evidence.nearest_rows import NearestRows
from maskdiff.masking import as_rows


@pytest.fixture(params=["compiled", "products"], autouse=True)
def path(request, monkeypatch):
    """Each way to compute the same numbers."""
    monkeypatch.setattr(NearestRows, "compiles", request.param == "compiled")


def schema_of(values: np.ndarray) -> Schema:
    fields = []
    for j, column in enumerate(values.T):
        counts = np.bincount(column)
        fields.append(Field(f"c{j}", "category", tuple(map(str, range(len(counts)))), tuple(counts.tolist())))
    return Schema(tuple(fields))


@pytest.fixture
def normal() -> Codes:
    values = np.random.default_rng(0).integers(0, 3, (60, 5))
    values[-3:] = [[0] * 5, [1] * 5, [2] * 5]  # every code occurs
    return Codes(np.repeat(values, 2, axis=0), schema_of(np.repeat(values, 2, axis=0)))


def weights(codes: Codes) -> np.ndarray:
    """One over the root of the chance that two rows differ, column by column, from all pairs."""
    chance = (codes.values[:, None] != codes.values[None]).mean(axis=(0, 1))
    return np.maximum(chance, 1 / len(codes)) ** -0.5


def test_row_sums_are_the_mean_distance_to_the_k_nearest_rows(normal):
    new = np.random.default_rng(1).integers(0, 4, (20, 5))  # 3 is unseen
    distance = ((new[:, None] != normal.values[None]) * weights(normal)).sum(axis=2)
    slow = np.sort(distance, axis=1)[:, :7].mean(axis=1)
    found = NearestRows(7).fit(normal).differences(Codes(new, normal.schema))
    np.testing.assert_allclose(found.sum(axis=1), slow, rtol=1e-6)


def test_differences_are_where_the_row_was_changed(normal):
    changed = normal.values[:1].copy()
    changed[0, 2] = 3
    found = NearestRows(1).fit(normal).differences(Codes(changed, normal.schema))
    np.testing.assert_allclose(found, [[0, 0, weights(normal)[2], 0, 0]], rtol=1e-6)


def test_a_difference_counts_more_where_normal_rows_rarely_differ():
    values = np.zeros((200, 2), dtype=np.int64)
    values[::2, 0], values[0, 1] = 1, 1
    normal = Codes(values, schema_of(values))
    often, rarely = NearestRows(1).fit(normal).differences(Codes(np.array([[2, 0], [0, 2]]), normal.schema)).sum(axis=1)
    assert rarely > 5 * often


def test_a_column_that_never_differs_has_a_finite_weight():
    values = np.zeros((50, 2), dtype=np.int64)
    found = NearestRows().fit(Codes(values, schema_of(values))).differences(Codes(values + 1, schema_of(values)))
    np.testing.assert_allclose(found, 50**0.5, rtol=1e-6)


def test_with_fewer_rows_than_neighbours_all_rows_are_neighbours(normal):
    few = normal.take(slice(0, 3))
    found = NearestRows(25).fit(few).differences(few)
    slow = (few.values[:, None] != few.values[None]).mean(axis=1) * weights(normal)
    np.testing.assert_allclose(found, slow, rtol=1e-6)


def spread(along: np.ndarray, column: np.ndarray) -> float:
    """The root mean square difference between two of these rows that both have a place."""
    lies = along[column[column < len(along)]]
    return float(((lies[:, None] - lies[None]) ** 2).mean() ** 0.5)


def apart(one: np.ndarray, other: np.ndarray, along: np.ndarray, column: np.ndarray) -> np.ndarray:
    """How far codes are apart that lie so, before they are weighted; `column` are those of the normal rows."""
    inside = (one < len(along)) & (other < len(along))
    between = np.abs(along[np.minimum(one, len(along) - 1)] - along[np.minimum(other, len(along) - 1)])
    return np.where(inside, between, (one != other) * 6**0.5 * spread(along, column))


def test_bins_differ_by_steps_and_by_numbers_and_from_what_is_missing_or_unseen_as_the_ends_of_even_numbers():
    values = np.random.default_rng(2).integers(0, 5, (80, 2))
    values[:5, 0] = values[:5, 1] = np.arange(5)
    counts = [tuple(np.bincount(column).tolist()) for column in values.T]
    middles = (1.0, 2.0, 5.0, 90.0)
    fields = (
        Field("age", "number", ("1", "2", "3", "4", "missing"), counts[0], ordered=True, middles=middles),
        Field("day", "date", ("a", "b", "c", "d", "e"), counts[1], ordered=True),
    )
    normal, new = Codes(values, Schema(fields)), np.array([[0, 4], [4, 0], [5, 5], [2, 2]])
    steps, numbers = np.arange(4.0), np.array(middles)
    half = steps / spread(steps, values[:, 0]) + numbers / spread(numbers, values[:, 0])
    distance = np.zeros((4, 80))
    for j, along in enumerate((half, np.arange(5.0))):
        column = values[:, j]
        among = apart(column[:, None], column[None], along, column)
        distance += apart(new[:, j, None], column[None], along, column) / (among**2).mean() ** 0.5
    found = NearestRows(3).fit(normal).differences(Codes(new, normal.schema))
    np.testing.assert_allclose(found.sum(axis=1), np.sort(distance, axis=1)[:, :3].mean(axis=1), rtol=1e-5)


def test_where_the_five_nearest_are_equally_far_from_all_rows_more_are_looked_at():
    every = np.stack(np.meshgrid(*[np.arange(4)] * 4), axis=-1).reshape(-1, 4)
    rng = np.random.default_rng(0)
    full = Codes(every[rng.permutation(len(every))], schema_of(every))
    held_out, kept = full.take(slice(0, 60)), full.take(slice(60, None))
    assert NearestRows().fit(kept).choose_k(held_out) == 25
    sparse = Codes(rng.integers(0, 4, (300, 12)), schema_of(rng.integers(0, 4, (300, 12))))
    assert NearestRows().fit(sparse.take(slice(60, None))).choose_k(sparse.take(slice(0, 60))) == 5


@pytest.mark.parametrize(("copies", "k"), [(2, 5), (12, 25), (400, 5)])
def test_where_most_rows_are_equal_to_the_nearest_five_but_not_to_25_more_neighbours_are_looked_at(copies, k):
    rng = np.random.default_rng(5)
    # Half as many other rows, which are all different; with ever more copies 25 say no more than 5.
    few = np.repeat(rng.integers(0, 4, (4800 // copies // 4, 8)), copies, axis=0)
    values = rng.permutation(np.concatenate([few, rng.integers(0, 4, (len(few) // 2, 8))]))
    codes = Codes(values, schema_of(values))
    assert NearestRows().fit(codes.take(slice(200, None))).choose_k(codes.take(slice(0, 200))) == k


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_of_rows_equally_far_and_of_equal_rows_as_many_count_as_there_are_neighbours(data):
    """Bins with a missing value, a category, unseen values, ties everywhere."""
    row = st.tuples(st.integers(0, 3), st.integers(0, 2))
    values = np.array([*data.draw(st.lists(row, min_size=1, max_size=12)), (0, 0), (1, 1), (2, 2), (3, 0)])
    counts = [tuple(np.bincount(column).tolist()) for column in values.T]
    age = Field("age", "number", ("1", "2", "3", "missing"), counts[0], ordered=True)
    normal = Codes(values, Schema((age, Field("pet", "category", ("a", "b", "c"), counts[1]))))
    new = np.array(data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=4)))
    k = data.draw(st.integers(1, len(values)))

    lies, unequal = schema_places(normal.schema)
    place = [np.append(lies[0, :3], [np.nan, np.nan])[codes[:, 0]] for codes in (new, values)]
    between = np.abs(place[0][:, None] - place[1][None])
    between = np.where(np.isnan(between), (new[:, None, 0] != values[None, :, 0]) * unequal[0], between)
    distance = between + (new[:, None, 1] != values[None, :, 1]) * unequal[1]
    found = NearestRows(k).fit(normal).differences(Codes(new, normal.schema)).sum(axis=1)
    np.testing.assert_allclose(found, np.sort(distance, axis=1)[:, :k].mean(axis=1), rtol=1e-5, atol=1e-6)


def test_more_normal_rows_than_are_compared_at_once_are_all_compared(monkeypatch, normal):
    whole = NearestRows(4).fit(normal).differences(normal)
    monkeypatch.setattr(nearest_loops, "_BLOCK", 7)
    np.testing.assert_allclose(NearestRows(4).fit(normal).differences(normal), whole, rtol=1e-6)


def test_the_nearest_come_first_and_without_numba_too(monkeypatch, normal):
    rows = as_rows(normal.take(slice(0, 9)))
    source = NearestRows(3).fit(normal)
    places, numbers = source.nearest(rows)
    assert (source.codes_NF[places[:, 0]] == rows.codes_BF).all()
    monkeypatch.setattr(nearest_rows, "load_loops", lambda _: None)
    torch.testing.assert_close(NearestRows(3).fit(normal).nearest(rows)[1], numbers)


def test_the_number_of_threads_does_not_matter(normal):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = NearestRows(4).fit(normal).differences(normal)
        torch.set_num_threads(3)
        np.testing.assert_allclose(NearestRows(4).fit(normal).differences(normal), alone, rtol=1e-6)
    finally:
        torch.set_num_threads(before)
