"""A generated graph, and its nodes as rows of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.datasets.graphs import make_graph, neighbour_summaries
from maskdiff.errors import SettingError


def test_normal_nodes_pay_whom_their_role_pays():
    nodes, edges, y = make_graph(600, seed=3)
    assert not y.any()
    role = nodes["role"].to_numpy()
    paid_by_people = role[edges[role[edges[:, 0]] == "person", 1]]
    assert not np.isin(paid_by_people, ["supplier"]).any()
    country = nodes["country"].to_numpy()
    assert 0.85 < (country[edges[:, 0]] == country[edges[:, 1]]).mean() < 0.98


def test_odd_nodes_differ_in_one_attribute_and_keep_their_edges():
    (before, edges, _), (after, same_edges, y) = (make_graph(300, seed=5, odd=odd) for odd in (0.0, 0.1))
    np.testing.assert_array_equal(edges, same_edges)
    np.testing.assert_array_equal((before != after).sum(axis=1), y)
    assert y.sum() == 30


def test_summaries_are_about_neighbours_in_both_directions():
    nodes = pd.DataFrame({"role": ["shop", "person", "person", "bank", "shop"]})
    table = neighbour_summaries(nodes, np.array([[1, 0], [2, 0], [0, 3]]))
    assert table["neighbours"].tolist() == [3, 1, 1, 1, 0]
    assert table["role of neighbours"].tolist()[:4] == ["person", "shop", "shop", "shop"]
    assert table["same role"].tolist()[:4] == [0, 0, 0, 0]
    assert table.iloc[4][["role of neighbours", "same role"]].isna().all()


def test_of_values_that_are_equally_common_the_first_is_taken():
    nodes = pd.DataFrame({"role": ["a", "c", "b"]})
    assert neighbour_summaries(nodes, np.array([[0, 1], [0, 2]]))["role of neighbours"][0] == "b"


@pytest.mark.parametrize("settings", [{"n": 3}, {"odd": 1.5}])
def test_graphs_refuse_nonsense(settings):
    with pytest.raises(SettingError, match="a graph wants"):
        make_graph(**settings)
