from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from maskdiff.bench.baselines.neighbours import HammingNeighbours
from maskdiff.errors import SettingError


def by_hand(normal: NDArray[np.int64], rows: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """One distance after the other."""
    distances = [sorted(int((row != other).sum()) for other in normal) for row in rows]
    return np.array([np.mean(nearest[:k]) for nearest in distances])


@pytest.mark.parametrize("most_one_hot", [0, 2**28])
@pytest.mark.parametrize("k", [1, 5, 25])
def test_agrees_with_a_loop_over_all_pairs(k: int, most_one_hot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HammingNeighbours, "most_one_hot", most_one_hot)
    rng = np.random.default_rng(0)
    normal, rows = rng.integers(0, 3, (200, 5)), rng.integers(0, 5, (60, 5))  # codes 3 and 4 are unseen
    scores = HammingNeighbours(k, device="cpu").fit(normal).anomaly_score(rows)
    assert_allclose(scores, by_hand(normal, rows, k))


def test_agrees_with_the_loop_when_rows_are_taken_in_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HammingNeighbours, "at_once", 100)
    rng = np.random.default_rng(1)
    normal, rows = rng.integers(0, 3, (50, 4)), rng.integers(0, 3, (31, 4))
    assert_allclose(HammingNeighbours(7, device="cpu").fit(normal).anomaly_score(rows), by_hand(normal, rows, 7))


def test_equal_normal_rows_count_as_often_as_they_occur() -> None:
    normal = np.array([[0, 0]] * 3 + [[1, 1]] * 30)
    assert_allclose(HammingNeighbours(4, device="cpu").fit(normal).anomaly_score(np.array([[0, 0]])), [2 / 4])


def test_with_fewer_normal_rows_than_k_all_of_them_count() -> None:
    normal = np.array([[0, 0, 0], [0, 0, 1]])
    assert_allclose(HammingNeighbours(25, device="cpu").fit(normal).anomaly_score(np.array([[0, 1, 0]])), [1.5])


def test_k_below_one_is_refused() -> None:
    with pytest.raises(SettingError, match="k must be at least 1"):
        HammingNeighbours(0)
