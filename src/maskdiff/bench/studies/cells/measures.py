"""How well planted errors are found: rows, cells in them, and cells over a whole file. N rows, C columns, P planted."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff.bench.studies.cells.judgement import FileCells, Judgement
from maskdiff.codes import BoolArray, FloatArray, IntArray


def places(oddness: FloatArray, column: IntArray) -> IntArray:
    """How many cells of its row are named before the one in `column`, shape (P,); ties in the order of the columns.

    A cell nothing is said about (-inf) is never named: all columns come before it.

    >>> places(np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 0.0]]), np.array([2, 1]))
    array([1, 1])
    """
    own = np.take_along_axis(oddness, column[:, None], axis=1)
    earlier = np.arange(oddness.shape[1]) < column[:, None]
    before = ((oddness > own) | ((oddness == own) & earlier)).sum(axis=1)
    return np.asarray(np.where(np.isneginf(own[:, 0]), oddness.shape[1], before), dtype=np.int64)


def named_first(judged: Judgement, wrong: BoolArray) -> IntArray:
    """The column of the wrong cell that is named before the other wrong cells of its row, (P,).

    >>> cells = np.array([[3.0, 1.0, 2.0]])
    >>> named_first(Judgement(np.zeros(1), np.zeros(1, bool), cells), np.array([[False, True, True]]))
    array([2])
    """
    return np.asarray(np.where(wrong, judged.order, -np.inf).argmax(axis=1), dtype=np.int64)


def row_measures(
    untouched: FloatArray,
    planted: Judgement,
    column: IntArray,
    *,
    contradicts: IntArray | None = None,
    right: BoolArray | None = None,
) -> dict[str, Any]:
    """What became of rows with one wrong cell each: counts of rows, and the ROC-AUC beside rows without an error.

    `first` and `three`: the wrong cell is named first, or among the first three; the same `_found`: of those rows that
    are alarms as well. `pair`: the wrong cell or the one it contradicts is named first. `right`: what was expected in
    the wrong cell is what stood there before.
    """
    order, found = planted.order, planted.alarm
    place = places(order, column)
    named = {"first": place < 1, "three": place < 3}
    if contradicts is not None:
        named["pair"] = named["first"] | (places(order, contradicts) < 1)
    y = np.repeat([0, 1], [len(untouched), len(column)])
    return {
        "n": len(column),
        "roc_auc": float(roc_auc_score(y, np.concatenate([untouched, planted.score]))) if len(column) else None,
        "found": int(found.sum()),
        **{name: int(rows.sum()) for name, rows in named.items()},
        **{f"{name}_found": int((rows & found).sum()) for name, rows in named.items()},
        "right": None if right is None else int(right.sum()),
        "right_first": None if right is None else int((right & named["first"]).sum()),
    }


def among_the_oddest(oddness: FloatArray, row: IntArray, column: IntArray) -> BoolArray:
    """Which of these k cells are among the k oddest of the file, shape (k,); ties in the order of the cells."""
    oddest = np.zeros(oddness.size, dtype=np.bool_)
    oddest[np.argsort(-oddness, axis=None, kind="stable")[: len(row)]] = True
    return oddest.reshape(oddness.shape)[row, column]


def cell_measures(cells: FileCells, wrong: BoolArray) -> dict[str, Any]:
    """All cells of a file in one order: average precision, and the share of wrong ones among the k oddest.

    k is the number of wrong cells; cells that tie with the last of them are counted in part. Where there is a list of
    cells also how many it has, how many of them are wrong, and of those how many suggestions are right.
    """
    flat = cells.oddness.ravel()
    order = np.where(np.isneginf(flat), np.min(flat, where=np.isfinite(flat), initial=0.0) - 1, flat)
    y = wrong.ravel()
    return {
        "n_cells": len(y),
        "n_wrong": int(y.sum()),
        "average_precision": float(average_precision_score(y, order)),
        "precision_at_k": precision_at_k(order, y),
        **_discoveries(cells, wrong),
    }


def precision_at_k(order: FloatArray, wrong: BoolArray) -> float:
    """The share of wrong cells among the k oddest, k the number of wrong cells; ties count in part.

    >>> precision_at_k(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.75
    """
    k = int(wrong.sum())
    last = np.sort(order)[-k]
    above, tied = order > last, order == last
    in_part = (k - above.sum()) * wrong[tied].mean()
    return float((wrong[above].sum() + in_part) / k)


def _discoveries(cells: FileCells, wrong: BoolArray) -> dict[str, int]:
    if cells.reported is None or cells.right is None:
        return {}
    found = cells.reported & wrong
    return {
        "reported": int(cells.reported.sum()),
        "reported_wrong": int(found.sum()),
        "reported_right": int((found & cells.right).sum()),
    }
