"""ReportBuilder: batches, row numbers, verdicts judged elsewhere, limits; and the file that is written."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from maskdiff.errors import CalibrationError, InputError, SettingError
from maskdiff.report import ReportBuilder, build_report, write_report
from maskdiff.report.content.columns import ColumnContent
from maskdiff.report.highest_alarms import HighestAlarms

from ..conftest import make_connections
from .pages import WHEN, report_on
from .samples import SPAM, connections_detector, odd_connections, some_texts, text_detector


def test_batches_of_any_size_give_the_same_page() -> None:
    X = odd_connections(200)
    whole = build_report(connections_detector(), X, when=WHEN)
    parts = [X.iloc[:70], X.iloc[70:71], X.iloc[71:71], X.iloc[71:]]
    assert build_report(connections_detector(), parts, when=WHEN) == whole
    assert build_report(connections_detector(), iter(parts), when=WHEN) == whole
    reader = pa.Table.from_pandas(X).to_batches(max_chunksize=64)
    assert build_report(connections_detector(), reader, when=WHEN) == whole


@pytest.mark.parametrize("texts", [False, True], ids=["table", "texts"])
def test_rows_with_verdicts_are_not_judged_again(texts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    detector: Any = text_detector() if texts else connections_detector()
    X = some_texts(30, *SPAM) if texts else odd_connections(80)
    verdicts = detector.judge(X)
    calls: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args: calls.update([name]) or original(*args))

    count(type(detector), "judge")
    count(type(detector.encoder_), "encode")
    judged_before = ReportBuilder(detector, false_alarm_rate=0.1).add(X, verdicts=verdicts).html(when=WHEN)
    assert not calls
    assert ReportBuilder(detector, false_alarm_rate=0.1).add(X).html(when=WHEN) == judged_before
    assert calls == {"judge": 1, "encode": 1}


@pytest.mark.parametrize(
    ("given", "first"), [(None, 0), (1, 1), (np.arange(1000, 1080), 1000)], ids=["none", "first", "all"]
)
def test_rows_have_the_numbers_they_are_given(given: Any, first: int) -> None:
    X = odd_connections(80)
    numbers = [row["number"] for row in report_on([X[:50], X[50:]], row_numbers=given).rows()]
    alone = [row["number"] for row in report_on(X).rows()]
    assert numbers == [number + first for number in alone]


def test_row_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="one number for each of the 20 rows; got 3"):
        ReportBuilder(connections_detector()).add(odd_connections(20), [1, 2, 3])


def test_a_rate_that_cannot_be_promised_is_refused() -> None:
    with pytest.raises(CalibrationError, match="calibration rows"):
        build_report(connections_detector(), odd_connections(5), false_alarm_rate=1e-6)


def test_beyond_the_limit_the_highest_alarms_are_kept_and_all_are_counted() -> None:
    X, detector = odd_connections(3000, share=0.9), connections_detector()
    verdicts = detector.judge(X)
    n = int(verdicts.is_anomaly.sum())
    builder = ReportBuilder(detector, max_alarms=1000)
    for at in range(0, len(X), 800):
        here = np.arange(at, min(at + 800, len(X)))
        builder.add(X.iloc[here], verdicts=verdicts.take(here))
    kept = [alarm.score for alarm in builder.highest_alarms.alarms]
    assert n > 1000
    assert kept == sorted(verdicts.anomaly_score[verdicts.is_anomaly].tolist(), reverse=True)[:1000]
    assert f"Only the 1,000 highest of the {n:,} anomalies" in builder.html(when=WHEN)


def test_rows_beyond_the_limit_keep_only_their_explained_cells() -> None:
    X, detector = odd_connections(200), connections_detector()
    content = ColumnContent(detector)
    highest = HighestAlarms(content, max_alarms=40, max_cells=4 * 10)
    verdicts = detector.judge(X)
    for rows in np.array_split(np.arange(200), 5):
        highest.add(content.read(X.iloc[rows]), verdicts.take(rows), rows)
    assert len(highest.alarms) == 40
    assert [alarm.values is not None for alarm in highest.alarms] == [True] * 10 + [False] * 30
    assert all(alarm.cells for alarm in highest.alarms)


def test_the_file_contains_the_page_and_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    X = odd_connections(30)
    path.write_text("notes")
    with pytest.raises(SettingError, match="is not a report"):
        write_report(connections_detector(), X, path, when=WHEN)
    write_report(connections_detector(), X, path, force=True)
    write_report(connections_detector(), X, path, when=WHEN)
    assert path.read_text(encoding="utf-8") == build_report(connections_detector(), X, when=WHEN)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_report_leaves_no_file_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_report(connections_detector(), make_connections(5, 1).drop(columns="flag"), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_rows_that_a_rule_dismisses_are_not_drawn_above_the_threshold() -> None:
    detector, rows = copy.copy(connections_detector()), odd_connections(60)
    alarms = np.flatnonzero(detector.judge(rows).is_anomaly)
    detector.dismiss(rows.iloc[alarms[:1]])
    builder = ReportBuilder(detector).add(rows)
    assert builder.n_dismissed >= 1
    assert builder.scores.alarms == builder.n_alarms == len(alarms) - builder.n_dismissed
    assert "above the threshold that a rule dismisses" in builder.html()
