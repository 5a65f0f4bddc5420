"""Alarms that a person judged fine do not come back, alone or with their like; all others do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import SequenceDetector, Steps, TableDetector, TextDetector, Training, load, save
from maskdiff.detectors.dismissals import Dismissal
from maskdiff.detectors.dismissed_cells import ColumnCells
from maskdiff.errors import InputError, NoEvidenceWarning, SettingError
from maskdiff.reconstructors import TransformerReconstructor

from ..conftest import make_connections
from ..handmade import codes_of

ODD = pd.DataFrame(
    {
        "protocol": ["sctp", "tcp", "tcp", "tcp", "tcp", "tcp"],
        "service": ["http", "http", "telnet", "gopher", "http", "http"],
        "flag": ["SF", "S0", "SF", "SF", "SF", "SF"],
        "bytes": [2000, 2000, 2000, 2000, 900_000, 900_001],
    }
)


@pytest.fixture(scope="module")
def fitted() -> TableDetector:
    return TableDetector("kernel", progress=False).fit(make_connections(600, seed=7))


@pytest.fixture
def detector(fitted):
    yield fitted
    for rule in fitted.dismissals_.rules:
        fitted.undo_dismissal(rule.number)


@pytest.fixture(scope="module")
def texts() -> TextDetector:
    network = TransformerReconstructor(16, 1, 2, 32, training=Training(Steps(40), batch_size=32, learning_rate=0.01))
    return TextDetector(network, progress=False).fit(["see you at nine", "see you at ten", "call me at ten"] * 60)


@pytest.mark.parametrize("scope", ["same cells", "same pattern"])
def test_a_dismissed_alarm_does_not_come_back_and_the_others_do(detector, scope):
    before = detector.judge(ODD)
    assert before.is_anomaly.all()
    assert before.rule is None
    (rule,) = detector.dismiss(ODD[3:4], scope)
    after = detector.judge(ODD)
    assert after.is_anomaly.tolist() == [True, True, True, False, True, True]
    assert after.dismissed_by.tolist() == [0, 0, 0, rule.number, 0, 0]
    assert (after.anomaly_score == before.anomaly_score).all()
    assert (after.p_value == before.p_value).all()
    assert detector.predict(ODD).tolist() == [-1, -1, -1, 1, -1, -1]
    assert not detector.select(ODD, 0.5)[3]
    assert after.to_frame()["dismissed_by"].tolist() == [0, 0, 0, 1, 0, 0]
    assert [record["dismissed_by"] for record in after.to_records()][2:4] == [None, 1]


def test_alarms_only_become_fewer(detector):
    rows = pd.concat([make_connections(2000, seed=1), ODD], ignore_index=True)
    before = detector.is_anomaly(rows, 0.05)
    detector.dismiss(rows[before][:20], "same pattern")
    after = detector.is_anomaly(rows, 0.05)
    assert (after <= before).all()
    assert after.sum() <= before.sum() - 20


def test_same_cells_needs_the_same_values_and_same_pattern_the_same_bins(detector):
    detector.dismiss(ODD[4:5])
    assert detector.is_anomaly(ODD[4:]).tolist() == [False, True]
    detector.undo_dismissal(1)
    (rule,) = detector.dismiss(ODD[4:5], "same pattern")
    assert "bytes beyond the largest seen" in str(rule)
    assert detector.is_anomaly(ODD[4:]).tolist() == [False, False]


def test_a_number_within_the_range_is_compared_by_its_bin(detector):
    large = ODD[4:].assign(protocol="icmp", service="echo", bytes=[2000, 2001])
    (rule,) = detector.dismiss(large[:1], "same pattern")
    assert "bytes" in {cell.column for cell in rule.cells if cell.compared == "code"}
    assert detector.judge(large, 0.1).dismissed_by.tolist() == [1, 1]
    assert detector.judge(large.assign(bytes=20_000), 0.1).dismissed_by.tolist() == [0, 0]
    assert detector.is_anomaly(large.assign(bytes=20_000), 0.1).all()


def test_cells_that_are_not_odd_do_not_matter_and_others_that_are_do(detector):
    detector.dismiss(ODD[3:4])
    flags = pd.concat([ODD[3:4].assign(bytes=1900), ODD[3:4].assign(flag="odd")])
    assert detector.is_anomaly(flags).tolist() == [False, True]


def test_the_same_value_is_the_same_in_every_format(detector, tmp_path):
    ODD.to_csv(tmp_path / "odd.csv", index=False)
    detector.dismiss(ODD[4:5].astype({"bytes": float}))
    assert detector.is_anomaly(pd.read_csv(tmp_path / "odd.csv", dtype=str)).tolist()[3:] == [True, False, True]


def test_rules_are_numbered_not_made_twice_and_undone(detector):
    first, second = detector.dismiss(ODD[:2])
    assert (first.number, second.number) == (1, 2)
    assert detector.dismiss(ODD[1:2])[0] is second
    detector.undo_dismissal(1)
    assert [rule.number for rule in detector.dismissals_.rules] == [2]
    assert detector.dismiss(ODD[2:3])[0].number == 3
    assert detector.is_anomaly(ODD).tolist()[:3] == [True, False, False]
    with pytest.raises(SettingError, match="no rule 1 to undo; the rules are: 2, 3"):
        detector.undo_dismissal(1)


def test_a_model_file_keeps_the_rules_and_a_new_fit_does_not(detector, tmp_path):
    detector.dismiss(ODD[:1])
    detector.dismiss(ODD[4:5], "same pattern")
    save(detector, tmp_path / "m.maskdiff")
    again = load(tmp_path / "m.maskdiff")
    assert again.dismissals_ == detector.dismissals_
    assert (again.judge(ODD).dismissed_by == detector.judge(ODD).dismissed_by).all()
    assert not again.fit(make_connections(100, seed=1)).dismissals_


def test_taken_rows_keep_their_rules(detector):
    detector.dismiss(ODD[3:4])
    assert detector.judge(ODD).take(np.array([3, 0])).dismissed_by.tolist() == [1, 0]


def test_texts_are_dismissed_by_their_odd_words(texts):
    rows = ["see you at zoo", "call me at zoo", "win cash at zoo"]
    assert texts.is_anomaly(rows).all()
    (rule,) = texts.dismiss(rows[:1])
    assert "zoo" in str(rule)
    assert texts.is_anomaly(rows).tolist() == [False, False, True]
    assert texts.judge(rows).take(np.array([1])).dismissed_by.tolist() == [1]
    texts.undo_dismissal(1)
    texts.dismiss(rows[2:], "same pattern")
    assert not texts.is_anomaly(rows)[2]
    texts.undo_dismissal(1)
    with pytest.warns(NoEvidenceWarning), pytest.raises(InputError, match="row 1 has no odd cell"):
        texts.dismiss([rows[0], ""])


def test_sequences_are_dismissed_by_their_odd_symbols():
    network = TransformerReconstructor(16, 1, 2, 32, training=Training(Steps(40), batch_size=32, learning_rate=0.01))
    detector = SequenceDetector(network, progress=False).fit(
        [["open", "read", "close"], ["open", "write", "close"]] * 100
    )
    rows = [["open", "erase", "close"], ["open", "leak", "close"]]
    assert detector.is_anomaly(rows).all()
    detector.dismiss(rows[:1])
    assert detector.is_anomaly(rows).tolist() == [False, True]


class Texts:
    """An encoder that shows cells as their codes."""

    def __init__(self, codes):
        self.codes = codes

    def display(self, X, rows, fields):
        return [str(self.codes.values[i, j]) for i, j in zip(rows, fields, strict=True)]

    def notes(self, X, rows, fields):
        return [""] * len(rows)


@pytest.mark.parametrize("scope", ["same cells", "same pattern"])
def test_a_cell_that_raises_an_alarm_by_itself_is_named_and_keeps_other_rules_from_the_row(scope):
    codes = codes_of([[0, 1, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0]])
    contributions = np.array([[5.0, 1.0, 1.0]] * 4)
    beyond = np.array([[-1.0, -1.0, 2.0], [-1.0, -1.0, -1.0], [-1.0, 2.0, 2.0], [-1.0, -1.0, -1.0]])
    cells = ColumnCells(None, codes, contributions, Texts(codes), beyond)
    first, second, *_ = cells.odd(scope)
    assert [cell.column for cell in first] == ["f0", "f2"]
    assert cells.fits(Dismissal(1, scope, first)).tolist() == [True, False, False, False]
    assert cells.fits(Dismissal(2, scope, second)).tolist() == [False, True, False, False]


def test_a_scope_there_is_not_is_refused(detector):
    with pytest.raises(SettingError, match="scope must be 'same cells' or 'same pattern'; got 'all'"):
        detector.dismiss(ODD, "all")
