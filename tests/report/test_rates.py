"""Other false-alarm rates: thresholds the calibration allows, counted over all rows, with the rows to show for them."""

from __future__ import annotations

import numpy as np

from maskdiff.report import ReportBuilder

from .pages import WHEN, Page, report_on
from .samples import connections_detector, odd_connections


def test_rates_have_the_thresholds_of_the_detector_and_count_all_rows() -> None:
    X, detector = odd_connections(300), connections_detector()
    builder = ReportBuilder(detector)
    for part in (X.iloc[:130], X.iloc[130:]):
        builder.add(part)
    scores = detector.anomaly_score(X)
    assert builder.rate in builder.rates.rates
    assert min(builder.rates.rates) >= detector.calibration_.finest_rate
    assert max(builder.rates.rates) > builder.rate
    for choice in builder.rates.choices(300):
        assert choice.threshold == detector.threshold(choice.rate)
        assert choice.n_alarms == (scores > choice.threshold).sum()


def test_rows_for_higher_rates_follow_the_alarms_in_order() -> None:
    X, detector = odd_connections(300, share=0.2), connections_detector()
    page = report_on(X)
    data, scores = page.data, detector.anomaly_score(X)
    highest = data["rates"][-1]
    assert data["rates"][data["ownRate"]]["n"] == len(page.rows()) < highest["n"] == len(data["number"])
    assert sorted(data["number"]) == np.flatnonzero(scores > highest["threshold"]).tolist()
    assert data["score"] == sorted(data["score"], reverse=True)


def test_a_rate_is_not_offered_where_its_rows_are_not_kept() -> None:
    X, detector = odd_connections(300, share=0.2), connections_detector()
    n_alarms = int(detector.judge(X).is_anomaly.sum())
    builder = ReportBuilder(detector, max_alarms=n_alarms).add(X)
    data = Page(builder.html(when=WHEN)).data
    assert len(data["number"]) == n_alarms
    assert len(data["rates"]) == data["ownRate"] + 1


def test_lower_rates_are_listed_even_if_only_the_highest_alarms_are_kept() -> None:
    builder = ReportBuilder(connections_detector(), false_alarm_rate=0.1, max_alarms=5).add(odd_connections(300))
    choices = builder.rates.choices(5)
    assert [choice.rate for choice in choices][-1] == 0.1
    assert len(choices) > 1
