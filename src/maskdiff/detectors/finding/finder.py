"""A detector that searches the rows it learns from: what `fit_find` does."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskdiff.detectors.finding.cross_fit import CrossFit, LearnFolds, rows_chosen
from maskdiff.detectors.finding.findings import Findings, findings_of
from maskdiff.detectors.finding.search import AUTO, Checkpoints, FindOptions, Found, RowTies, search
from maskdiff.detectors.finding.ties import column_values, group_keys, time_ranks
from maskdiff.detectors.labels import pandas_index
from maskdiff.errors import MaskdiffWarning
from maskdiff.progress import listening

if TYPE_CHECKING:
    from maskdiff.detectors.base import Detector
    from maskdiff.detectors.cell_repairs import Repair
    from maskdiff.detectors.learning import Batches
    from maskdiff.detectors.tables import TableDetector


def find(
    X: Any,
    *,
    detector: Detector | None = None,
    contamination: float | str | None = None,
    false_discovery_rate: float = 0.1,
    group: Any = None,
    order: Any = None,
) -> Findings:
    """The odd rows of a table that nobody has labelled: each is judged by a model that did not see it.

    `detector` is one that is not fitted yet and is left as it is, for texts a TextDetector; None: a TableDetector as it
    comes. The one that is fitted is that of the findings. The rest as in `fit_find` of the detectors.

    >>> import maskdiff
    >>> rows = [["cat", "meow"], ["dog", "woof"]] * 100 + [["cat", "woof"]]
    >>> findings = maskdiff.find(rows, detector=maskdiff.TableDetector("kernel"))
    >>> findings.ranked().labels[0], findings.p_value[200] < 0.001
    (np.int64(200), np.True_)
    """
    from maskdiff.detectors.tables import TableDetector

    fitted = TableDetector() if detector is None else copy.copy(detector)
    return fitted.fit_find(
        X, contamination=contamination, false_discovery_rate=false_discovery_rate, group=group, order=order
    )


def repair(
    X: Any,
    *,
    detector: TableDetector | None = None,
    false_discovery_rate: float = 0.1,
    at_least: float = 0.5,
) -> Repair:
    """A copy of a table that is all there is, in which wrong cells hold what should be there, and the list of them.

    The cells are judged as `find(X)` judges rows, each by a model that did not see its row: see `Findings.odd_cells`
    for which are wrong, and `TableDetector.repair` for what is put in their places. X itself stays as it is.
    `detector` is as in `find`. A detector that has learned normal rows repairs new ones: `detector.repair(X)`.

    >>> import maskdiff
    >>> rows = [["cat", "meow"], ["dog", "woof"]] * 200 + [["cat", "meo w"]]
    >>> repaired = maskdiff.repair(rows, detector=maskdiff.TableDetector("kernel"))
    >>> repaired.rows[400], repaired.n_changed
    (['cat', 'meow'], 1)
    """
    findings = find(X, detector=detector)
    return findings.repair(X, false_discovery_rate, at_least=at_least)


def fit_find(
    detector: Detector,
    X: Any,
    *,
    contamination: float | str | None = None,
    false_discovery_rate: float = 0.1,
    group: Any = None,
    order: Any = None,
) -> Findings:
    """See `Detector.fit_find`."""
    options = FindOptions(_share(detector, contamination), false_discovery_rate)
    group, order = (_values(detector, X, given) for given in (group, order))
    rows = detector._read(X)
    found = fit_find_batches(detector, lambda: [rows], rows.n_rows, options, group=group, order=order)
    findings = findings_of(found, detector, rows, np.arange(rows.n_rows), pandas_index(X))
    with listening(detector.progress) as callback:
        cells = detector._found_cells(found, lambda: [rows], callback)
    return replace(findings, cells=cells)


def fit_find_batches(
    detector: Detector,
    batches: Batches,
    n_rows: int | None,
    options: FindOptions,
    *,
    group: Any = None,
    order: Any = None,
    checkpoints: Checkpoints | None = None,
    learn_folds: LearnFolds = CrossFit.learn,
) -> Found:
    """Search rows that come in parts, each read by `_read`; the detector learns from those that are not left out.

    `group` and `order` give one value for each row; `checkpoints` store the trainings; `learn_folds` makes the models.
    """
    found = search_batches(
        detector,
        batches,
        n_rows,
        options,
        group=group,
        order=order,
        checkpoints=checkpoints,
        learn_folds=learn_folds,
    )
    kept = found.learned_from
    contamination, detector.contamination = detector.contamination, 0.0  # the odd rows are gone by now
    try:
        stored = None if checkpoints is None else checkpoints.of(len(found.rounds) + 1, 0)
        detector._learn(rows_chosen(batches, kept), int(kept.sum()), stored)
    finally:
        detector.contamination = contamination
    return found


def search_batches(
    detector: Detector,
    batches: Batches,
    n_rows: int | None,
    options: FindOptions,
    *,
    group: Any = None,
    order: Any = None,
    checkpoints: Checkpoints | None = None,
    learn_folds: LearnFolds = CrossFit.learn,
) -> Found:
    """The search of `fit_find_batches` alone: no model is learned from the rows that stay."""
    detector._check_settings()
    detector._check_folders()
    n_rows = detector._look(batches, n_rows)
    with listening(detector.progress) as callback:
        ties = _ties(detector, batches, n_rows, group, order)
        return search(
            detector, batches, ties, options, callback=callback, checkpoints=checkpoints, learn_folds=learn_folds
        )


def _share(detector: Detector, contamination: float | str | None) -> float | str:
    """The share given, or the detector's own; where that is not set either, the scores decide."""
    return (detector.contamination or AUTO) if contamination is None else contamination


def _values(detector: Detector, X: Any, given: Any) -> Any:
    """One value for each row; a column that is named says which rows belong together, and is not learned from.

    Every model would find all of its values new in the rows it judges.
    """
    if not isinstance(given, str):
        return given
    values = column_values(X, given)
    if "columns" in detector.get_params(deep=False):
        detector.set_params(columns={given: "drop", **(detector.get_params(deep=False)["columns"] or {})})
    return values


def _ties(detector: Detector, batches: Batches, n_rows: int, group: Any, order: Any) -> RowTies:
    rank = None if order is None else time_ranks(order, n_rows)
    if group is not None:
        return RowTies(group_keys(group, n_rows), grouped=True, rank=rank)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)  # given once, by the model that is kept
        return RowTies(detector._row_keys(batches), rank=rank)
