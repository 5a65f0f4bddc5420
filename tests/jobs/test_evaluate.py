"""Evaluating on a file: the measures are scikit-learn's, and rows without evidence count in them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from maskdiff import TableDetector
from maskdiff.errors import CalibrationError, InputError, ReadingWarning, SettingError
from maskdiff.jobs import DetectorSettings, draw_curves, evaluate_file
from maskdiff.jobs.evaluate import measure

from ..conftest import make_connections


@pytest.fixture(scope="module")
def detector() -> TableDetector:
    return TableDetector("kernel", progress=False).fit(make_connections(600, seed=7))


@pytest.fixture(scope="module")
def labelled() -> pd.DataFrame:
    rows = make_connections(60, seed=3).assign(odd=0)
    rows.loc[50:, ["service", "odd"]] = ["gopher", 1]
    return rows


@pytest.fixture(scope="module")
def path(labelled, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("rows") / "labelled.csv"
    labelled.to_csv(path, index=False)
    return str(path)


def test_rows_without_a_label_are_left_out_with_a_notice(detector, labelled, tmp_path):
    rows = labelled.astype({"odd": object})
    rows.loc[[3, 7], "odd"] = None
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(ReadingWarning, match="rows without a label in 'odd' left out: 2"):
        assert evaluate_file(detector, str(tmp_path / "rows.csv"), "odd").rows == len(rows) - 2


def test_the_measures_are_those_of_scikit_learn(detector, labelled, path):
    found = evaluate_file(detector, path, "odd")
    scores, odd = detector.anomaly_score(labelled.drop(columns="odd")), labelled["odd"].to_numpy().astype(bool)
    assert found.roc_auc == pytest.approx(roc_auc_score(odd, scores))
    assert found.average_precision == pytest.approx(average_precision_score(odd, scores))
    alarm = scores > detector.threshold()
    assert (found.alarms, found.recall) == (alarm.sum(), alarm[odd].mean())
    assert found.false_alarm_rate_seen == alarm[~odd].mean()
    assert (found.rows, found.anomalies, found.empty_rows) == (60, 10, 0)
    assert json.loads(json.dumps(found.to_record()))["roc_auc"] == found.roc_auc


@pytest.mark.parametrize("rate", [0, 0.0, 1, -0.1])
def test_a_rate_out_of_range_is_refused_and_not_replaced(rate, detector, path):
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        evaluate_file(detector, path, "odd", false_alarm_rate=rate)


def test_a_rate_moves_the_threshold(detector, path):
    found = evaluate_file(detector, path, "odd", false_alarm_rate=0.2)
    assert (found.false_alarm_rate_promised, found.threshold) == (0.2, detector.threshold(0.2))


def test_rows_of_one_class_are_refused(detector, path):
    with pytest.raises(InputError, match="every row is normal"):
        evaluate_file(detector, path, "odd", ["0", "1"])
    with pytest.raises(InputError, match="no row is normal"):
        evaluate_file(detector, path, "odd", ["7"])
    with pytest.raises(SettingError, match="say which values mark normal rows"):
        evaluate_file(detector, path, "flag")


def test_the_curves_are_drawn(detector, path, tmp_path):
    draw_curves(evaluate_file(detector, path, "odd"), str(tmp_path / "curves.png"))
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingError, match="cannot be written as 'xyz'"):
        draw_curves(evaluate_file(detector, path, "odd"), str(tmp_path / "curves.xyz"))


# Rows without evidence -----------------------------------------------------------------------------------------------


def test_rows_without_evidence_count_as_the_least_odd_and_are_never_alarms():
    scores, odd = np.array([5.0, np.nan, 1.0, 2.0, np.nan]), np.array([True, True, False, False, False])
    found = measure(scores, odd, scores > 3.0)
    assert found["empty_rows"] == 2
    assert (found["alarms"], found["recall"], found["false_alarm_rate_seen"]) == (1, 0.5, 0.0)
    as_lowest = np.where(np.isnan(scores), 0.0, scores)
    assert found["roc_auc"] == pytest.approx(roc_auc_score(odd, as_lowest))
    assert found["average_precision"] == pytest.approx(average_precision_score(odd, as_lowest))


def test_rows_that_are_all_without_evidence_are_no_alarms():
    found = measure(np.full(4, np.nan), np.array([True, False, True, False]), np.full(4, False))
    assert (found["alarms"], found["precision"], found["recall"]) == (0, None, 0.0)
    assert found["roc_auc"] == 0.5


def test_empty_texts_of_a_file_are_counted(tmp_path):
    texts = ["see you soon at nine", "call me later at ten"] * 60
    settings = DetectorSettings(text="t", steps=2, levels=(0.2, 0.6), views_per_level=2, others={"progress": False})
    detector = settings.build().fit(pd.DataFrame({"t": texts}))
    rows = [("see you", 0), ("call me", 0), ("zoo", 1), ("", 1), (None, 0)]
    (tmp_path / "l.jsonl").write_text("\n".join(json.dumps({"t": text, "y": y}) for text, y in rows))
    found = evaluate_file(detector, str(tmp_path / "l.jsonl"), "y")
    assert (found.rows, found.anomalies, found.empty_rows) == (5, 2, 2)
    assert np.isnan(found.scores).tolist() == [False, False, False, True, True]
    assert np.isfinite([found.roc_auc, found.average_precision]).all()
    assert found.recall <= 0.5


def test_rows_it_learned_from_are_named_beside_the_figures(tmp_path):
    learned = make_connections(600, seed=7).assign(sent=np.random.default_rng(0).integers(0, 10**6, 600), odd=0)
    detector = TableDetector("kernel", progress=False).fit(learned.drop(columns="odd"))
    learned.loc[590:, ["service", "odd"]] = ["gopher", 1]
    learned.to_csv(tmp_path / "learned.csv", index=False)
    found = evaluate_file(detector, str(tmp_path / "learned.csv"), "odd")
    assert [check.name for check in found.checks] == ["rows_learned_from"]
    assert "rows labelled normal equal rows the model learned from" in found.checks[0].message
