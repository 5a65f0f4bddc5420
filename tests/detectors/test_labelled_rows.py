"""Labels at fit: anomalies among the rows are counted in a warning, or left out by request."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from maskdiff import ProbeGrid, SequenceDetector, Steps, TableDetector, Training, TransformerReconstructor, load, save
from maskdiff.errors import IgnoredLabelsWarning, InputError


@pytest.fixture
def mixed(normal_rows, odd_rows):
    """600 normal rows and 40 odd ones, mixed; True for the odd ones."""
    rows = pd.concat([normal_rows, *[odd_rows] * 10], ignore_index=True)
    order = np.random.default_rng(0).permutation(len(rows))
    return rows.iloc[order], order >= len(normal_rows)


LABELS = {
    "booleans": lambda odd: odd,
    "zeros and ones": lambda odd: odd.astype(int),
    "scikit-learn's signs": lambda odd: np.where(odd, -1, 1),
    "floats in a column": lambda odd: odd.astype(float)[:, None],
    "pandas": lambda odd: pd.Series(odd.astype(int), index=range(5, 5 + len(odd))),
    "polars": lambda odd: pl.Series(odd),
    "objects": lambda odd: odd.astype(object),
}


@pytest.mark.parametrize("y_of", LABELS.values(), ids=LABELS)
def test_anomalies_in_y_are_counted_in_a_warning(mixed, y_of):
    rows, odd = mixed
    with pytest.warns(IgnoredLabelsWarning, match="y calls 40 of 640 rows anomalies, but is ignored") as caught:
        warned = TableDetector("kernel").fit(rows, y_of(odd))
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(warned.anomaly_score(rows), TableDetector("kernel").fit(rows).anomaly_score(rows))


@pytest.mark.parametrize("y_of", LABELS.values(), ids=LABELS)
def test_anomalies_are_left_out_by_request(mixed, y_of):
    rows, odd = mixed
    left_out = TableDetector("kernel", leave_out_labelled=True).fit(rows, y_of(odd))
    without = TableDetector("kernel").fit(rows[~odd])
    np.testing.assert_array_equal(left_out.anomaly_score(rows), without.anomaly_score(rows))


@pytest.mark.parametrize("y", [None, [0] * 600, [1] * 600, ["ok"] * 600, np.linspace(0, 9, 600), [[0, 1]] * 600])
def test_labels_that_name_no_anomaly_give_no_warning(normal_rows, y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableDetector("kernel").fit(normal_rows, y)


@pytest.mark.parametrize("y", [["fraud", "ok"] * 300, [0, 1, 2] * 200, [0, None] * 300, [[0, 1]] * 600])
def test_labels_of_another_meaning_cannot_be_left_out(normal_rows, y):
    with pytest.raises(InputError, match="True or 1 for anomalies"):
        TableDetector("kernel", leave_out_labelled=True).fit(normal_rows, y)


def test_one_label_a_row_is_needed(normal_rows):
    with pytest.raises(InputError, match="y has 2 labels, but there are 600 rows"):
        TableDetector("kernel").fit(normal_rows, [0, 1])


def test_nothing_is_left_where_all_rows_are_anomalies(normal_rows):
    with pytest.raises(InputError):
        TableDetector("kernel", leave_out_labelled=True).fit(normal_rows, np.ones(600, dtype=bool))


def test_sequences_are_left_out_too():
    small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=Training(Steps(2), batch_size=16))
    detector = SequenceDetector(small, probes=ProbeGrid((0.5,), 2), leave_out_labelled=True)
    detector.fit([["open", "close"], ["bang"]] * 60, [0, 1] * 60)
    assert "bang" not in detector.encoder_.schema_.fields[0].labels


def test_the_setting_is_stored(normal_rows, tmp_path):
    save(TableDetector("kernel", leave_out_labelled=True).fit(normal_rows), tmp_path / "model")
    assert load(tmp_path / "model").leave_out_labelled


def test_labelled_rows_can_be_cross_validated(mixed):
    rows, odd = mixed
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    detector = TableDetector("kernel", leave_out_labelled=True)
    assert cross_val_score(detector, rows, np.where(odd, -1, 1), cv=folds, scoring="roc_auc").mean() > 0.9
