"""The measures, on examples small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from maskdiff.bench.studies.cells.judgement import FileCells, Judgement
from maskdiff.bench.studies.cells.measures import among_the_oddest, cell_measures, places, row_measures


def test_rows_and_named_cells_are_counted() -> None:
    oddness = np.array(
        [
            [9.0, 1.0, 2.0, 3.0],  # named first, an alarm
            [4.0, 1.0, 2.0, 3.0],  # third, an alarm
            [0.0, 1.0, 2.0, 3.0],  # last, an alarm
            [9.0, 1.0, 2.0, 3.0],  # first, not noticed
        ]
    )
    judged = Judgement(np.array([5.0, 4.0, 3.0, 1.0]), np.array([True, True, True, False]), oddness)
    right = np.array([True, True, False, False])
    found = row_measures(np.array([0.0, 2.0]), judged, np.array([0, 2, 0, 0]), right=right)
    assert found == {
        "n": 4,
        "roc_auc": pytest.approx(7 / 8),
        "found": 3,
        "first": 2,
        "three": 3,
        "first_found": 1,
        "three_found": 2,
        "right": 2,
        "right_first": 1,
    }


def test_a_contradiction_may_be_named_by_either_of_its_cells() -> None:
    oddness = np.array([[3.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 1.0, 3.0]])
    judged = Judgement(np.ones(3), np.array([True, True, False]), oddness)
    found = row_measures(np.zeros(3), judged, np.array([0, 0, 0]), contradicts=np.array([1, 1, 1]))
    assert (found["first"], found["pair"], found["pair_found"]) == (1, 2, 2)


def test_a_detector_that_expects_nothing_has_no_suggestions() -> None:
    judged = Judgement(np.array([1.0]), np.array([True]), np.array([[1.0, 0.0]]))
    found = row_measures(np.array([0.0]), judged, np.array([0]))
    assert found["right"] is None


def test_a_cell_nothing_is_said_about_is_not_named() -> None:
    assert places(np.array([[-np.inf, -np.inf], [-np.inf, 1.0]]), np.array([0, 1])).tolist() == [2, 0]


def test_cells_of_a_file_are_ranked_together() -> None:
    oddness = np.array([[5.0, 4.0], [3.0, 2.0], [-np.inf, 1.0]])
    wrong = np.array([[True, False], [True, False], [False, False]])
    found = cell_measures(FileCells(oddness), wrong)
    assert found == {
        "n_cells": 6,
        "n_wrong": 2,
        "average_precision": pytest.approx((1 / 1 + 2 / 3) / 2),
        "precision_at_k": 0.5,
    }


def test_as_many_cells_as_are_wrong_are_taken_for_the_oddest() -> None:
    oddness = np.array([[5.0, 4.0], [4.0, -np.inf]])
    assert among_the_oddest(oddness, np.array([0, 1]), np.array([0, 0])).tolist() == [True, False]
    assert among_the_oddest(oddness, np.array([0, 1, 1]), np.array([0, 0, 1])).tolist() == [True, True, False]


def test_a_cell_nothing_is_said_about_comes_last() -> None:
    wrong = np.array([[True, False, False]])
    assert cell_measures(FileCells(np.array([[-np.inf, -4.0, -5.0]])), wrong)["average_precision"] == pytest.approx(
        1 / 3
    )


def test_cells_listed_are_counted_and_how_many_are_wrong_and_set_right() -> None:
    reported = np.array([[True, True, True, False, False]])
    wrong = np.array([[True, False, True, True, False]])
    right = np.array([[True, True, False, False, False]])
    found = cell_measures(FileCells(reported.astype(float), reported, right), wrong)
    assert (found["reported"], found["reported_wrong"], found["reported_right"]) == (3, 2, 1)
