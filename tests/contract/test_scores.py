"""What a score promises: pure, repeatable, a row's own, and the sum of its contributions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from .cases import explained, has_own_masks, scored
from .model_files import contents


def test_scoring_changes_nothing(case, detector, tmp_path):
    before, rows = contents(detector, tmp_path), case.rows
    generator, threads = torch.get_rng_state(), torch.get_num_threads()
    numpy_generator = np.random.get_state()[1].tolist()  # noqa: NPY002
    first = detector.judge(rows)
    detector.explain(rows)
    detector.shaded(rows)
    detector.select(rows, 0.2)
    np.testing.assert_array_equal(detector.anomaly_score(rows), first.anomaly_score)
    pd.testing.assert_frame_equal(rows, case.rows)
    assert contents(detector, tmp_path) == before
    assert torch.get_rng_state().equal(generator)
    assert np.random.get_state()[1].tolist() == numpy_generator  # noqa: NPY002
    assert torch.get_num_threads() == threads


def test_a_score_depends_neither_on_order_nor_batch_nor_neighbours(case, detector):
    if has_own_masks(detector):
        pytest.skip("these masks depend on a row's place: see the next test")
    rows = case.rows
    together = scored(detector, case)
    np.testing.assert_allclose(detector.anomaly_score(rows[::-1])[::-1], together, rtol=1e-5)
    np.testing.assert_allclose(detector.anomaly_score(rows[2:5]), together[2:5], rtol=1e-5)
    alone = [detector.anomaly_score(rows.iloc[[i]])[0] for i in range(len(rows))]
    np.testing.assert_allclose(alone, together, rtol=1e-5)


def test_with_masks_of_their_own_scores_depend_on_place_and_cells_alone(case, detector):
    rows = case.rows
    together = scored(detector, case)
    np.testing.assert_allclose(detector.anomaly_score(rows[:5]), together[:5], rtol=1e-5)
    moved = pd.concat([rows[:4][::-1], rows[4:]])
    np.testing.assert_allclose(detector.anomaly_score(moved)[4:], together[4:], rtol=1e-5)
    if has_own_masks(detector):
        assert not np.allclose(detector.anomaly_score(rows[::-1])[::-1], together, rtol=1e-5)


def test_equal_rows_get_equal_scores_unless_they_draw_masks_of_their_own(case, detector):
    scores = scored(detector, case)
    assert (scores[-1] == scores[0]) != has_own_masks(detector)


def test_the_order_of_named_columns_does_not_matter(case, detector):
    turned = case.rows[case.rows.columns[::-1]]
    np.testing.assert_array_equal(detector.anomaly_score(turned), scored(detector, case))
    pd.testing.assert_frame_equal(detector.explain(turned), explained(detector, case))


def test_contributions_add_up_to_the_score(case, detector):
    contributions = detector.contributions(case.rows)
    assert contributions.dtype == np.float64
    np.testing.assert_allclose(contributions.sum(axis=1), scored(detector, case), rtol=1e-9)


def test_odd_rows_score_higher_than_normal_ones(case, detector):
    odd, normal = detector.anomaly_score(case.odd), detector.anomaly_score(case.fresh)
    assert np.median(odd) > np.quantile(normal, 0.75)
    assert odd.max() > normal.max() * 1.5


def test_no_rows_get_no_scores(case, detector):
    none = case.rows.head(0)
    assert detector.anomaly_score(none).shape == (0,)
    assert detector.p_value(none).shape == (0,)
    assert detector.contributions(none).shape[0] == 0
    assert detector.predict(none).shape == (0,)
    assert detector.select(none, 0.1).shape == (0,)
    assert len(detector.explain(none)) == 0
