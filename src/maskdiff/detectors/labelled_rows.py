"""Rows that come with labels: which of them are called anomalies, and what becomes of these."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maskdiff.codes import BoolArray
from maskdiff.errors import IgnoredLabelsWarning, InputError

_MOST_NAMED = 5


def labelled_anomalies(y: Any) -> BoolArray | None:
    """Which rows these labels call anomalies, shape (n,); None for labels of another meaning.

    True, or 1 beside 0, as in data sets; or -1 beside 1, as scikit-learn's outlier detectors answer. 1 alone is normal:
    there is nothing to learn from anomalies alone.

    >>> labelled_anomalies([0, 1, 0]), labelled_anomalies([1, -1, 1]), labelled_anomalies(["a", "b"])
    (array([False,  True, False]), array([False,  True, False]), None)
    """
    labels = np.asarray(y)
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1:
        return None
    if labels.dtype == np.bool_:
        return labels
    found = set(labels.tolist())
    meaning = next((anomaly for anomaly, known in ((-1, {-1, 1}), (1, {0, 1})) if found <= known), None)
    return None if meaning is None else np.asarray(labels == meaning, dtype=np.bool_)


def normal_rows(rows: Any, y: Any, *, leave_out: bool) -> Any:
    """The rows to learn from: all, with a warning, or with `leave_out` those that `y` does not call anomalies."""
    if y is None:
        return rows
    anomalies = labelled_anomalies(y)
    if anomalies is None:
        return _refused(y) if leave_out else rows
    if len(anomalies) != rows.n_rows:
        raise InputError(f"y has {len(anomalies):,} labels, but there are {rows.n_rows:,} rows: give one label a row.")
    if leave_out:
        return rows.take(~anomalies)
    if anomalies.any():
        warnings.warn(
            f"y calls {anomalies.sum():,} of {len(anomalies):,} rows anomalies, but is ignored: all rows are learned "
            "from as normal ones. Set leave_out_labelled=True to leave these out, or fit on normal rows alone.",
            IgnoredLabelsWarning,
            stacklevel=3,
        )
    return rows


def _refused(y: Any) -> Any:
    values = list(dict.fromkeys(map(repr, np.asarray(y).ravel().tolist())))
    shown = ", ".join(values[:_MOST_NAMED]) + (", ..." if len(values) > _MOST_NAMED else "")
    raise InputError(
        f"leave_out_labelled=True needs to know which labels are anomalies, but y holds {shown}. Give one label a row: "
        "True or 1 for anomalies and False or 0 for normal rows, or -1 and 1 as scikit-learn does."
    )
