"""Neighbours against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.codes import Codes, Field, Schema
from maskdiff.neighbours import Neighbours


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


def test_row_sums_are_the_mean_distance_to_the_k_nearest_rows(normal):
    asked = np.random.default_rng(1).integers(0, 4, (20, 5))  # 3 is unseen
    distance = (asked[:, None] != normal.values[None]).sum(axis=2)
    slow = np.sort(distance, axis=1)[:, :7].mean(axis=1)
    found = Neighbours(7).fit(normal).differences(Codes(asked, normal.schema))
    np.testing.assert_allclose(found.sum(axis=1), slow, rtol=1e-6)


def test_differences_lie_where_the_row_was_changed(normal):
    changed = normal.values[:1].copy()
    changed[0, 2] = 3
    found = Neighbours(1).fit(normal).differences(Codes(changed, normal.schema))
    np.testing.assert_allclose(found, [[0, 0, 1, 0, 0]])


def test_fewer_rows_than_neighbours_is_no_matter(normal):
    few = normal.take(slice(0, 3))
    found = Neighbours(25).fit(few).differences(few)
    slow = (few.values[:, None] != few.values[None]).mean(axis=1)
    np.testing.assert_allclose(found, slow, atol=1e-6)
