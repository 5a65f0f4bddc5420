"""The page agrees with the verdicts, for any number of rows, columns and anomalies."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from maskdiff.detectors import TableDetector
from maskdiff.errors import LeftOutWarning
from maskdiff.explanations.intervals import interval_text
from maskdiff.report import ReportBuilder
from maskdiff.report.formatting import p_value, percent

from ..conftest import make_connections
from .pages import WHEN, Page, report_on
from .samples import combined_detector, connections_detector, odd_connections


def test_scores_p_values_and_order_are_those_of_the_verdicts() -> None:
    X = odd_connections(300)
    verdicts = connections_detector().judge(X)
    rows = report_on(X).rows()
    alarms = np.flatnonzero(verdicts.is_anomaly)
    ranked = alarms[np.argsort(-verdicts.anomaly_score[alarms], kind="stable")]
    assert [row["number"] for row in rows] == ranked.tolist()
    assert [row["score"] for row in rows] == [round(score, 3) for score in verdicts.anomaly_score[ranked].tolist()]
    assert [row["p"] for row in rows] == [p_value(p) for p in verdicts.p_value[ranked].tolist()]


def test_explained_cells_are_those_of_explain() -> None:
    X = odd_connections(120)
    explained = connections_detector().explain(X, top=8)
    for row in report_on(X).rows():
        lines = explained[explained["row"] == row["number"]].set_index("column")
        cells = row["cells"]
        strongest = lines.index[:3].tolist()
        assert [cell["column"] for cell in cells] == [c for c in lines.index if c in strongest or c in row["odd"]]
        lines = lines.loc[[cell["column"] for cell in cells]]
        assert [cell["value"] for cell in cells] == lines["value"].tolist()
        assert [cell["expected"] for cell in cells] == list(map(interval_text, lines["expected"]))
        assert [cell["share"] for cell in cells] == pytest.approx(lines["share"].tolist(), abs=0.001)
        expected = lines["expected_probability"].tolist()
        assert [cell["probability"] for cell in cells] == pytest.approx(expected, abs=0.001)


def test_every_row_shows_its_own_values() -> None:
    X = odd_connections(200)
    for row in report_on(X).rows():
        assert row["values"] == {name: str(value) for name, value in X.iloc[row["number"]].items()}


def test_the_numbers_at_the_top_are_those_of_the_verdicts() -> None:
    X = odd_connections(400)
    verdicts = connections_detector().judge(X, 0.05)
    page = report_on(X, false_alarm_rate=0.05)
    text = " ".join(page.text.split())
    n = int(verdicts.is_anomaly.sum())
    assert f"{n} of 400 rows ({percent(n / 400)}) stand out" in text
    assert "If every row were normal, about 20 would stand out." in text
    assert f"Threshold{connections_detector().threshold(0.05):.3f} nats" in text
    assert f"Highest score{verdicts.anomaly_score.max():.3f} nats" in text


def test_the_static_rows_have_score_odd_cells_and_expected_values() -> None:
    page = report_on(odd_connections(300))
    static = page.table("Rank", "Odd cells")
    assert len(static) == 50
    for line, row in zip(static, page.rows(), strict=False):
        assert line[1:4] == [str(row["number"]), f"{row['score']:.3f}", row["p"]]
        for cell in (cell for cell in row["cells"] if cell["odd"]):
            assert f"{cell['column']} {cell['value']}" in line[4]
            assert f"expected {cell['expected']}" in line[4] or "the most likely, but" in line[4]


def test_shares_of_columns_are_their_contributions_to_the_alarms() -> None:
    X = odd_connections(300)
    verdicts = connections_detector().judge(X)
    in_alarms = verdicts.contributions[verdicts.is_anomaly].sum(axis=0)
    in_other_rows = verdicts.contributions[~verdicts.is_anomaly].sum(axis=0)
    order = np.argsort(-in_alarms)
    lines = report_on(X).table("Share of the anomalies")
    assert [line[0] for line in lines] == X.columns[order].tolist()
    assert [line[2] for line in lines] == [percent(x) for x in in_alarms[order] / in_alarms.sum()]
    assert [line[3] for line in lines] == [percent(x) for x in in_other_rows[order] / in_other_rows.sum()]


def test_the_table_of_scores_adds_up_to_all_rows() -> None:
    lines = report_on(odd_connections(300)).table("Scored rows", "Calibration rows")
    assert sum(int(line[1].split()[0]) for line in lines) == 300
    assert sum(int(line[2].split()[0]) for line in lines) == len(connections_detector().calibration_)


def test_groups_count_the_anomalies_they_show() -> None:
    page = report_on(odd_connections(400))
    lines = page.table("Odd columns", "Highest score")
    groups = [row["group"] for row in page.rows()]
    assert [int(line[2]) for line in lines] == [groups.count(at) for at in range(len(lines))]
    for at, line in enumerate(lines):
        odd = [row["odd"] for row in page.rows() if row["group"] == at]
        assert line[0] == "spread over many columns" or all(set(line[0].split(" + ")) == columns for columns in odd)


def calm_connections() -> pd.DataFrame:
    calm = make_connections(60, seed=7)
    return calm[~connections_detector().is_anomaly(calm)].iloc[:30].reset_index(drop=True)


def test_a_page_without_rows_says_so() -> None:
    page = report_on(calm_connections().iloc[:0])
    assert "No rows were scored" in page.text
    assert page.data["number"] == []
    assert "id" not in {name for tag, attributes in page.elements if tag == "table" for name in attributes}


def test_a_page_without_anomalies_says_so_and_names_the_lowest_p_values() -> None:
    X, page = calm_connections(), report_on(calm_connections())
    p_values = connections_detector().judge(X).p_value
    text = " ".join(page.text.split())
    assert "No row scored above the threshold" in text
    assert page.rows() == []
    named = re.findall(r"([\d.]+) \(row (\d+)\)", text)
    assert [text for text, _ in named] == [p_value(p) for p in sorted(p_values)[:5]]
    assert all(text == p_value(p_values[int(row)]) for text, row in named)
    assert f"The lowest p-value is {named[0][0]}." in text


def test_a_page_without_anomalies_offers_other_rates_with_their_rows() -> None:
    X, data = calm_connections(), report_on(calm_connections()).data
    scores = connections_detector().anomaly_score(X)
    assert max(choice["n"] for choice in data["rates"]) > 0
    for choice in data["rates"]:
        assert sorted(data["number"][: choice["n"]]) == np.flatnonzero(scores > choice["threshold"]).tolist()


def test_five_anomalies_are_all_static_rows() -> None:
    X = make_connections(60, seed=7)
    X = X[~connections_detector().is_anomaly(X)].iloc[:40].reset_index(drop=True)
    X.loc[[3, 9, 11, 20, 39], "service"] = "gopher"
    page = report_on(X)
    assert sorted(row["number"] for row in page.rows()) == [3, 9, 11, 20, 39]
    assert len(page.table("Rank", "Odd cells")) == 5
    assert page.table("Odd columns", "Highest score")[0][:3] == ["service", "gopher 5\N{MULTIPLICATION SIGN}", "5"]


def test_the_page_without_data_is_under_300_kilobytes() -> None:
    assert len(report_on(make_connections(1, seed=7)).html.encode()) < 300_000


def test_one_column_is_enough() -> None:
    detector = TableDetector("kernel", progress=False).fit(pd.DataFrame({"c": ["a"] * 150 + ["b"] * 50}))
    page = report_on(pd.DataFrame({"c": ["a", "zz", None, "b"]}), detector)
    assert {row["values"]["c"] for row in page.rows()} == {"zz", "missing"}


def test_hundreds_of_columns_open_with_the_odd_cells_only() -> None:
    rng = np.random.default_rng(0)
    names = [f"sensor_{i:03d}" for i in range(300)]
    levels = np.repeat(rng.choice(["low", "mid", "high"], (40, 1)), 300, axis=1)
    normal = pd.DataFrame(np.where(rng.random(levels.shape) < 0.9, levels, "mid"), columns=names)
    detector = TableDetector("kernel", progress=False).fit(normal)
    X = pd.DataFrame(rng.choice(["low", "mid", "high", "burst"], (6, 300)), columns=names)
    page = report_on(X, detector)
    assert len(page.rows()) == 6
    views = [attributes for tag, attributes in page.elements if tag == "select" and attributes.get("id") == "view"]
    assert [view["data-wide"] for view in views] == ["0"]
    assert all(len(row["values"]) == 300 for row in page.rows())
    assert len(page.table("Drift", "Distance")) <= 200


def test_columns_left_out_are_shown_with_the_row_and_with_the_reason() -> None:
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


def test_combined_evidence_is_measured_in_standard_deviations() -> None:
    assert len(combined_detector().evidence_.terms) > 1
    page = report_on(odd_connections(40), combined_detector())
    assert "standard deviations" in page.text
    assert "nats" not in page.text
    assert page.data["unit"] == "SD"


def test_the_model_and_the_source_are_named() -> None:
    page = report_on(odd_connections(20), source="claims.csv", model="june.maskdiff", title="Claims of June")
    text = " ".join(page.text.split())
    assert "Rows from claims.csv, scored 2024-05-17 09:30 UTC with the model june.maskdiff." in text
    assert "a kernel over normal rows bandwidth 1" in text
    assert "Claims of June" in text
    assert "600 normal rows, 4 columns" in text


def test_rows_say_what_makes_them_odd_and_the_page_counts_it() -> None:
    detector = connections_detector()
    X = odd_connections(150)
    page, verdicts = report_on(X), detector.judge(X)
    counts = Counter(verdicts.oddity[verdicts.is_anomaly])
    assert f"{counts['rare in itself']} rare in itself, {counts['odd in context']} odd in context" in page.text
    data = page.data
    words = [data["oddities"][at] for at in data["oddity"]]
    assert words == verdicts.oddity[data["number"]].tolist()
    assert ("option", {"value": "1"}) in page.elements
    assert any("rare in itself" in line[-1] for line in page.table("Odd cells"))


def test_a_contradiction_is_named_beside_its_cell() -> None:
    X = make_connections(1, seed=1).assign(service="dns", protocol="tcp", flag="S0")
    reason = connections_detector().explain(X, top=4).iloc[0]
    page = report_on(X)
    assert (f"contradicts {reason['contradicts']}" in page.text) == bool(reason["contradicts"])


def test_an_anomaly_by_one_cell_alone_says_so_and_names_the_cell() -> None:
    detector = connections_detector()
    X = odd_connections(40)
    verdicts = detector.judge(X)
    threshold = detector.threshold()
    low = int(np.flatnonzero(~verdicts.is_anomaly)[0])
    raised = verdicts.alarm_score.copy()
    raised[low] = threshold + 1
    oddness = np.zeros(verdicts.contributions.shape)
    oddness[low, 3] = 9.0
    cells = replace(verdicts.cells, oddness=oddness, above=5.0)
    builder = ReportBuilder(detector).add(X, verdicts=replace(verdicts, alarm_score=raised, cells=cells))
    page = Page(builder.html(when=WHEN))
    assert page.text.count("by one cell alone: as a whole it scores") == 1
    at = page.data["number"].index(low)
    assert page.data["whole"] == [[at, round(float(verdicts.anomaly_score[low]), 3)]]
    assert any(cell[0] == 3 and cell[5] & 1 for cell in zip(*[iter(page.data["cells"][at])] * 6, strict=True))
