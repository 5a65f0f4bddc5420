"""Explaining rows of a file: by number or by a value, the same cells as in Python."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.errors import CalibrationError, InputError, SettingError
from maskdiff.io import ReadOptions
from maskdiff.jobs import explain_rows

from ..conftest import make_connections
from ..wrong_cells import contract_detector, wrong_cells


@pytest.fixture(scope="module")
def detector() -> TableDetector:
    return TableDetector("kernel", progress=False).fit(make_connections(600, seed=7))


@pytest.fixture(scope="module")
def new() -> pd.DataFrame:
    return make_connections(30, seed=3).assign(id=range(101, 131))


@pytest.fixture(scope="module")
def path(new, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("rows") / "new.csv"
    new.to_csv(path, index=False)
    return str(path)


def test_a_row_has_the_cells_that_python_names(detector, new, path):
    (found,) = explain_rows(detector, path, 17, top=2)
    rows = new.iloc[[16]].drop(columns="id")
    cells = detector.explain(rows, 2)
    assert found.cells["column"].tolist() == cells["column"].tolist()
    assert found.cells["share"].tolist() == pytest.approx(cells["share"].tolist())
    assert found.verdicts.anomaly_score[0] == pytest.approx(detector.anomaly_score(rows)[0])
    record = json.loads(json.dumps(found.to_record()))
    assert (record["row"], record["threshold"], len(record["cells"])) == (17, detector.threshold(), 2)


def test_several_rows_come_in_the_order_of_their_numbers(detector, path):
    found = explain_rows(detector, path, [30, 1, 8], reading=ReadOptions(rows_at_once=7))
    assert [row.row for row in found] == [30, 1, 8]
    alone = explain_rows(detector, path, 8)[0]
    assert found[2].verdicts.anomaly_score[0] == pytest.approx(alone.verdicts.anomaly_score[0])


@pytest.mark.parametrize("value", ["117", "117.0"])
def test_a_row_is_found_by_a_value(value, detector, path):
    assert explain_rows(detector, path, where=("id", value))[0].row == 17


def test_a_row_that_is_not_there_is_refused(detector, path):
    with pytest.raises(InputError, match="has no row 31: there are 30"):
        explain_rows(detector, path, 31)
    with pytest.raises(InputError, match="has no row with id = 7"):
        explain_rows(detector, path, where=("id", "7"))


@pytest.mark.parametrize("which", [{}, {"row": 1, "where": ("id", "7")}, {"row": 0}, {"row": []}])
def test_it_has_to_be_said_which_row(which, detector, path):
    with pytest.raises(SettingError) as caught:
        explain_rows(detector, path, **which)
    assert caught.value.setting == "row"


def test_a_rate_out_of_range_is_refused(detector, path):
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        explain_rows(detector, path, 1, false_alarm_rate=0)


def test_a_row_that_is_an_alarm_by_one_cell_alone_says_so(tmp_path):
    detector, rows = contract_detector(), wrong_cells()
    rows.to_csv(tmp_path / "new.csv", index=False)
    verdicts = detector.judge(rows, 0.05)
    by_cell = np.flatnonzero(verdicts.is_anomaly & (verdicts.anomaly_score <= detector.threshold(0.05)))
    assert len(by_cell)
    (found,) = explain_rows(detector, str(tmp_path / "new.csv"), row=int(by_cell[0]) + 1, false_alarm_rate=0.05)
    assert found.by_cells_alone
    assert found.alarm_cells == found.to_record()["alarm_cells"] == [found.cells["column"].iloc[0]]
    calm = int(verdicts.alarm_score.argmin()) + 1
    (found,) = explain_rows(detector, str(tmp_path / "new.csv"), row=calm, false_alarm_rate=0.05)
    assert not found.by_cells_alone
    assert found.alarm_cells == []
