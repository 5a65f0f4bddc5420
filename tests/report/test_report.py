"""The report says what the verdicts say, whatever the number of rows, columns and anomalies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.detectors import TableDetector
from maskdiff.errors import CalibrationError, InputError, LeftOutWarning
from maskdiff.report import ReportBuilder, build_report, write_report
from maskdiff.report.columns import ColumnContent
from maskdiff.report.formatting import p_value, percent
from maskdiff.report.highest_alarms import HighestAlarms

from ..conftest import make_connections
from .pages import WHEN, connections_detector, odd_connections, report_on


def test_scores_p_values_and_order_are_those_of_the_verdicts() -> None:
    X = odd_connections(300)
    verdicts = connections_detector().judge(X)
    rows = report_on(X).rows()
    alarms = np.flatnonzero(verdicts.is_anomaly)
    ranked = alarms[np.argsort(-verdicts.anomaly_score[alarms], kind="stable")]
    assert [row["number"] for row in rows] == ranked.tolist()
    assert [row["score"] for row in rows] == [round(score, 3) for score in verdicts.anomaly_score[ranked].tolist()]
    assert [row["p"] for row in rows] == [p_value(p) for p in verdicts.p_value[ranked].tolist()]


def test_cells_are_those_that_explain_names() -> None:
    X = odd_connections(120)
    detector = connections_detector()
    rows = {row["number"]: row for row in report_on(X).rows()}
    told = detector.explain(X, top=5)
    told = told[told["row"].isin(rows)]
    assert len(told) == sum(len(row["cells"]) for row in rows.values())
    for number, lines in told.groupby("row"):
        cells = rows[number]["cells"]
        assert [cell["column"] for cell in cells] == lines["column"].tolist()
        assert [cell["value"] for cell in cells] == lines["value"].tolist()
        assert [cell["expected"] for cell in cells] == lines["expected"].tolist()
        assert [cell["share"] for cell in cells] == pytest.approx(lines["share"].tolist(), abs=0.001)
        assert [cell["probability"] for cell in cells] == pytest.approx(
            lines["expected_probability"].tolist(), abs=0.001
        )


def test_every_row_shows_its_own_values() -> None:
    X = odd_connections(200)
    for row in report_on(X).rows():
        assert row["values"] == {name: str(value) for name, value in X.iloc[row["number"]].items()}


def test_the_figures_at_the_top_are_those_of_the_verdicts() -> None:
    X = odd_connections(400)
    verdicts = connections_detector().judge(X, 0.05)
    page = report_on(X, false_alarm_rate=0.05)
    text = " ".join(" ".join(page.texts).split())
    n = int(verdicts.is_anomaly.sum())
    assert f"{n} of 400 rows ({percent(n / 400)}) stand out" in text
    assert "If every row were normal, about 20 would stand out." in text
    assert f"Threshold {connections_detector().threshold(0.05):.3f} nats" in text
    assert f"Highest score {verdicts.anomaly_score.max():.3f} nats" in text


def test_the_written_out_rows_hold_score_odd_cells_and_what_was_expected() -> None:
    page = report_on(odd_connections(300))
    written = page.table("Rank", "Odd cells")
    assert len(written) == 50
    for line, row in zip(written, page.rows(), strict=False):
        assert line[1:4] == [str(row["number"]), f"{row['score']:.3f}", row["p"]]
        for cell in (cell for cell in row["cells"] if cell["odd"]):
            assert f"{cell['column']} {cell['value']}" in line[4]
            assert f"expected {cell['expected']}" in line[4] or "the most likely, but" in line[4]


def test_columns_carry_what_the_contributions_of_the_alarms_add_up_to() -> None:
    X = odd_connections(300)
    verdicts = connections_detector().judge(X)
    carried = verdicts.contributions[verdicts.is_anomaly].sum(axis=0)
    elsewhere = verdicts.contributions[~verdicts.is_anomaly].sum(axis=0)
    order = np.argsort(-carried)
    lines = report_on(X).table("Share of the anomalies")
    assert [line[0] for line in lines] == X.columns[order].tolist()
    assert [line[2] for line in lines] == [percent(x) for x in carried[order] / carried.sum()]
    assert [line[3] for line in lines] == [percent(x) for x in elsewhere[order] / elsewhere.sum()]


def test_the_table_of_scores_adds_up_to_all_rows() -> None:
    lines = report_on(odd_connections(300)).table("Scored rows", "Calibration rows")
    assert sum(int(line[1].replace(",", "")) for line in lines) == 300
    assert sum(int(line[3].replace(",", "")) for line in lines) == len(connections_detector().calibration_)


def test_groups_count_the_anomalies_they_show() -> None:
    page = report_on(odd_connections(400))
    lines = page.table("Odd columns", "Highest score")
    groups = [row["group"] for row in page.rows()]
    assert [int(line[2]) for line in lines] == [groups.count(at) for at in range(len(lines))]
    for at, line in enumerate(lines):
        odd = [{c["column"] for c in row["cells"] if c["odd"]} for row in page.rows() if row["group"] == at]
        assert line[0] == "spread over many columns" or all(set(line[0].split(" + ")) == columns for columns in odd)


def test_batches_of_any_size_give_the_same_page() -> None:
    X = odd_connections(200)
    whole = build_report(connections_detector(), X, when=WHEN)
    parts = [X.iloc[:70], X.iloc[70:71], X.iloc[71:71], X.iloc[71:]]
    assert build_report(connections_detector(), parts, when=WHEN) == whole
    assert build_report(connections_detector(), iter(parts), when=WHEN) == whole
    reader = pa.Table.from_pandas(X).to_batches(max_chunksize=64)
    assert build_report(connections_detector(), reader, when=WHEN) == whole


def test_verdicts_handed_in_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    X, detector = odd_connections(80), connections_detector()
    whole = build_report(detector, X, false_alarm_rate=0.1, when=WHEN)
    verdicts = detector.judge(X)
    monkeypatch.setattr(TableDetector, "judge", lambda *_: pytest.fail("scored again"))
    builder = ReportBuilder(detector, false_alarm_rate=0.1).add(X, verdicts=verdicts)
    assert builder.html(when=WHEN) == whole


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


@pytest.mark.parametrize("n", [0, 30])
def test_no_anomalies_are_said_in_words(n: int) -> None:
    calm = make_connections(60, seed=7)
    calm = calm[~connections_detector().is_anomaly(calm)].iloc[:n]
    page = report_on(calm)
    assert "No row scored above the threshold" in page.text
    assert page.data["number"] == []
    assert "id" not in {name for tag, attributes in page.elements if tag == "table" for name in attributes}


def test_five_anomalies_are_all_written_out() -> None:
    X = make_connections(60, seed=7)
    X = X[~connections_detector().is_anomaly(X)].iloc[:40].reset_index(drop=True)
    X.loc[[3, 9, 11, 20, 39], "service"] = "gopher"
    page = report_on(X)
    assert sorted(row["number"] for row in page.rows()) == [3, 9, 11, 20, 39]
    assert len(page.table("Rank", "Odd cells")) == 5
    assert page.table("Odd columns", "Highest score")[0][:3] == ["service", "gopher 5\N{MULTIPLICATION SIGN}", "5"]


def test_of_more_anomalies_than_are_kept_the_highest_stay_and_all_are_counted() -> None:
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


def test_the_page_without_data_is_under_300_kilobytes() -> None:
    assert len(report_on(make_connections(1, seed=7)).html.encode()) < 300_000


def test_rows_beyond_the_bound_keep_only_their_explained_cells() -> None:
    X, detector = odd_connections(200), connections_detector()
    content = ColumnContent(detector)
    highest = HighestAlarms(content, max_alarms=40, max_cells=4 * 10)
    verdicts = detector.judge(X)
    for rows in np.array_split(np.arange(200), 5):
        highest.add(content.read(X.iloc[rows]), verdicts.take(rows), rows)
    assert len(highest.alarms) == 40
    assert [alarm.values is not None for alarm in highest.alarms] == [True] * 10 + [False] * 30
    assert all(alarm.cells for alarm in highest.alarms)


def test_one_column_is_enough() -> None:
    detector = TableDetector("kernel", progress=False).fit(pd.DataFrame({"c": ["a"] * 150 + ["b"] * 50}))
    page = report_on(pd.DataFrame({"c": ["a", "zz", None, "b"]}), detector)
    assert {row["values"]["c"] for row in page.rows()} == {"zz", "missing"}


def test_a_thousand_columns_open_with_the_odd_cells_only() -> None:
    rng = np.random.default_rng(0)
    names = [f"sensor_{i:03d}" for i in range(1000)]
    levels = np.repeat(rng.choice(["low", "mid", "high"], (120, 1)), 1000, axis=1)
    normal = pd.DataFrame(np.where(rng.random(levels.shape) < 0.9, levels, "mid"), columns=names)
    detector = TableDetector("kernel", progress=False).fit(normal)
    X = pd.DataFrame(rng.choice(["low", "mid", "high", "burst"], (6, 1000)), columns=names)
    page = report_on(X, detector)
    assert len(page.rows()) == 6
    views = [attributes for tag, attributes in page.elements if tag == "select" and attributes.get("id") == "view"]
    assert [view["data-wide"] for view in views] == ["0"]
    assert all(len(row["values"]) == 1000 for row in page.rows())
    assert len(page.table("Drift", "Distance")) <= 200


def test_columns_that_were_left_out_stand_beside_the_row_and_say_why() -> None:
    normal = make_connections(300, seed=7)
    normal.insert(0, "id", [f"N-{i}" for i in range(300)])
    with pytest.warns(LeftOutWarning):
        detector = TableDetector("kernel", progress=False).fit(normal)
    X = odd_connections(30)
    X.insert(0, "id", [f"X-{i}" for i in range(30)])
    page = report_on(X, detector)
    assert page.rows()
    assert all(row["context"] == {"id": f"X-{row['number']}"} for row in page.rows())
    assert "id (a row id: all its values are different)" in " ".join(page.text.split())


def test_arrays_without_names_can_be_reported() -> None:
    values = make_connections(200, seed=7).astype(object).to_numpy()
    detector = TableDetector("kernel", progress=False).fit(values)
    odd = values[:10].copy()
    odd[3, :2] = "sctp", "gopher"
    page = report_on(odd.tolist(), detector)
    assert 3 in [row["number"] for row in page.rows()]
    assert page.data["columns"][1]["name"] == "x1"


def test_scores_of_several_kinds_are_told_in_standard_deviations() -> None:
    detector = TableDetector(progress=False).fit(make_connections(150, seed=7))
    assert len(detector.evidence_.terms) > 1
    page = report_on(odd_connections(40), detector)
    assert "standard deviations" in page.text
    assert "nats" not in page.text
    assert page.data["unit"] == "SD"


def test_the_model_and_the_source_are_named() -> None:
    page = report_on(odd_connections(20), source="claims.csv", model="june.maskdiff", title="Claims of June")
    text = " ".join(page.text.split())
    assert "Rows from claims.csv, scored 2024-05-17 09:30 UTC with the model june.maskdiff." in text
    assert "a kernel over normal rows: KernelReconstructor(bandwidth=1.0)" in text
    assert "Claims of June" in text
    assert "600 normal rows, 4 columns" in text


def test_the_file_holds_the_page_and_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("older")
    X = odd_connections(30)
    write_report(connections_detector(), X, path, when=WHEN)
    assert path.read_text(encoding="utf-8") == build_report(connections_detector(), X, when=WHEN)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_report_leaves_no_file_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        write_report(connections_detector(), make_connections(5, 1).drop(columns="flag"), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
