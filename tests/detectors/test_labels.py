"""The labels of a pandas index survive, and alarms choose rows in every library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maskdiff import TableDetector
from maskdiff.explanations.table import Explanation


@pytest.fixture
def detector(normal_rows):
    return TableDetector("kernel", false_alarm_rate=0.1).fit(normal_rows)


@pytest.fixture
def rows(normal_rows, odd_rows):
    """Odd rows, then normal ones, with labels that are not their positions."""
    rows = pd.concat([odd_rows, normal_rows.head(4)], ignore_index=True)
    return rows.set_axis([f"c{place}" for place in range(len(rows))][::-1])


def test_verdicts_as_a_frame_have_the_index_of_the_rows(detector, rows):
    verdicts = detector.judge(rows)
    frame = verdicts.to_frame()
    assert list(frame.columns) == ["anomaly_score", "p_value", "is_anomaly"]
    pd.testing.assert_index_equal(frame.index, rows.index)
    np.testing.assert_array_equal(frame["anomaly_score"], verdicts.anomaly_score)
    assert rows.join(frame)["is_anomaly"].tolist() == verdicts.is_anomaly.tolist()


def test_some_verdicts_keep_their_labels(detector, rows):
    alarms = detector.judge(rows).take(detector.is_anomaly(rows))
    pd.testing.assert_index_equal(alarms.to_frame().index, rows.index[detector.is_anomaly(rows)])
    unlabelled = detector.judge(rows.to_numpy()).take(np.array([5, 2]))
    assert unlabelled.to_frame().index.tolist() == [5, 2]


@pytest.mark.parametrize("turned", [pl.from_pandas, pd.DataFrame.to_numpy], ids=["polars", "numpy"])
def test_rows_without_labels_are_labelled_by_their_positions(detector, rows, turned):
    X = turned(rows)
    assert detector.judge(X).to_frame().index.tolist() == list(range(len(rows)))
    explained = detector.explain(X)
    assert explained.index.tolist() == explained["row"].tolist()


def test_an_explanation_joins_back_to_its_rows(detector, rows):
    joined = rows.join(detector.explain(rows, top=1))
    assert (
        joined.apply(lambda line: line[line["column"]] == line["value"], axis=1) | (joined["column"] == "bytes")
    ).all()
    assert len(joined) == len(rows)


def test_several_levels_and_a_name_that_is_a_column_do_no_harm(detector, rows):
    levels = pd.MultiIndex.from_product([["a", "b"], range(4)], names=["row", "part"])
    explained = detector.explain(rows.set_axis(levels))
    assert list(explained.index.names) == [None, "part"]
    assert explained.loc[("b", 1)]["row"].unique().tolist() == [5]
    assert explained.groupby("row").ngroups == len(rows)


def test_alarms_choose_rows_in_pandas_and_polars(detector, rows):
    alarms = detector.is_anomaly(rows)
    assert 0 < alarms.sum() < len(rows)
    assert rows[alarms].index.tolist() == rows.index[alarms].tolist()
    frame = pl.from_pandas(rows)
    expected = pl.from_pandas(rows[alarms])
    assert frame.filter(detector.is_anomaly(frame)).equals(expected)
    assert frame.filter(pl.Series(detector.is_anomaly(frame))).equals(expected)
    beside = frame.hstack(pl.from_pandas(detector.judge(frame).to_frame()))
    assert beside.filter("is_anomaly").height == alarms.sum()


def test_an_explanation_stays_one_when_it_is_filtered(detector, rows):
    explained = detector.explain(rows)
    assert isinstance(explained[explained["row"] == 0], Explanation)
