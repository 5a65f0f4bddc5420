"""Odd cells are listed over all rows, the oddest first, and repaired in a copy where one value is likely."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.calibration import CellSelection
from maskdiff.detectors.cell_repairs import CellRepairs
from maskdiff.errors import CalibrationError, SettingError
from maskdiff.explanations import MeantValues, Places
from maskdiff.explanations.reported_cells import ReportedCells

from ..wrong_cells import PLANTED, WRONG, contract_detector, make_contracts, wrong_cells

COLUMNS = ["row", "column", "value", "oddness", "p_value", "expected", "expected_probability", "note"]


@pytest.fixture(params=["mlp", "kernel"])
def detector(request) -> TableDetector:
    return contract_detector(request.param)


def test_the_wrong_cells_are_listed_the_oddest_first(detector):
    rows = wrong_cells()
    cells = detector.odd_cells(rows)
    assert list(cells.columns) == COLUMNS
    assert set(zip(cells.index, cells["column"], strict=True)) >= PLANTED
    assert (np.diff(cells["oddness"]) <= 0).all()
    assert (cells.index == rows.index[cells["row"]]).all()
    office = cells[(cells["column"] == "office") & (cells["row"] == 3)].iloc[0]
    assert office["value"] == rows["office"].iloc[3]
    assert office["expected"][0] == rows["plan"].iloc[3]


def test_the_list_is_what_the_verdicts_select_but_cells_that_hold_the_likeliest_value(detector):
    rows = wrong_cells()
    verdicts = detector.judge(rows)
    cells = detector.odd_cells(rows, 0.3, verdicts=verdicts)
    chosen = verdicts.cells.select(0.3)
    names = [field.name for field in detector.encoder_.schema_]
    listed = {(i, names.index(column)) for i, column in zip(cells["row"], cells["column"], strict=True)}
    assert {tuple(place) for place in np.argwhere(chosen)} >= listed
    for i, column, p_value in zip(cells["row"], cells["column"], cells["p_value"], strict=True):
        assert p_value == verdicts.cells.p_value[i, names.index(column)]
    assert (cells["value"] != cells["expected"]).all()
    if verdicts.cells.log_odds is not None:
        assert len(listed) == chosen.sum()


def test_a_field_computed_from_dates_is_named_after_them(detector):
    rows = wrong_cells().copy()
    rows.loc["c9", "end"] = rows.loc["c9", "start"] - np.timedelta64(40, "D")
    cells = detector.odd_cells(rows)
    assert "end - start" in set(cells.loc[["c9"], "column"])


def test_cells_of_rows_that_a_rule_dismisses_are_not_listed(detector):
    rows = wrong_cells()
    before = detector.odd_cells(rows)
    assert "c50" in before.index
    detector.dismiss(rows.loc[["c50"]])
    try:
        assert "c50" not in detector.odd_cells(rows).index
    finally:
        detector.undo_dismissal(detector.dismissals_.rules[0].number)


def test_a_table_without_wrong_cells_has_no_line(detector):
    cells = detector.odd_cells(make_contracts(20, 5), 0.001)
    assert list(cells.columns) == COLUMNS
    assert len(cells) == 0


def test_a_rate_that_makes_no_sense_and_verdicts_without_cells_are_refused(detector):
    rows = wrong_cells()
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        detector.odd_cells(rows, 1.5)
    with pytest.raises(SettingError, match="single cells"):
        detector.odd_cells(rows, verdicts=replace(detector.judge(rows), cells=None))


def test_the_threshold_of_cells_is_where_their_alarms_begin():
    detector = contract_detector()
    above = detector.cell_threshold(0.05)
    cells = detector.judge(wrong_cells(), 0.05).cells
    np.testing.assert_array_equal(cells.is_anomaly, cells.oddness > above)
    assert detector.cell_threshold(0.01) > above
    assert contract_detector("kernel").cell_threshold() is None


def test_cells_that_come_in_batches_are_selected_as_those_of_one_table():
    cells = contract_detector().judge(wrong_cells()).cells
    selection = CellSelection(cells.calibration, 0.2)
    reached = np.concatenate([selection.add(part) for part in np.array_split(cells.oddness, 7)])
    chosen = reached <= selection.most_reached()
    np.testing.assert_array_equal(chosen, cells.select(0.2))
    assert chosen.any()
    assert (reached[chosen] <= selection.reachable).all()


# Repairing -----------------------------------------------------------------------------------------------------------


def test_wrong_categories_are_repaired_in_a_copy(detector):
    rows = wrong_cells()
    before = rows.copy()
    repair = detector.repair(rows)
    pd.testing.assert_frame_equal(rows, before)
    assert repair.rows.dtypes.equals(rows.dtypes)
    right = make_contracts(120, 1)
    for row in WRONG["office"]:
        assert repair.rows["office"].iloc[row] == right["office"].iloc[row]
    for row in WRONG["limit"]:
        assert repair.rows["limit"].iloc[row] == right["limit"].iloc[row]
    changed = repair.changes[repair.changes["changed"]]
    assert repair.n_changed == len(changed)
    cells = {(rows.index[i], rows.columns[j]) for i, j in np.argwhere((repair.rows != rows) & rows.notna())}
    assert cells == set(zip(changed.index, changed["column"], strict=True))
    assert (changed["expected_probability"] >= 0.5).all()
    assert (changed["kept_because"] == "").all()


def test_the_list_of_changes_has_all_odd_cells(detector):
    rows = wrong_cells()
    changes, cells = detector.repair(rows).changes, detector.odd_cells(rows)
    assert changes.index.equals(cells.index)
    for column in ("row", "column", "value", "oddness", "p_value", "note"):
        assert changes[column].tolist() == cells[column].tolist()
    kept = changes[~changes["changed"]]
    assert (kept["kept_because"] != "").all()
    assert set(kept.loc[kept["column"] == "amount", "kept_because"]) == {"some value of an interval is expected"}


def test_only_suggestions_that_are_likely_enough_are_taken(detector):
    rows = wrong_cells()
    every, sure = (detector.repair(rows, at_least=at_least).changes for at_least in (0.0, 0.99))
    assert set(sure.loc[~sure["changed"], "kept_because"]) >= {"no value is likely enough"}
    assert sure["changed"].sum() < every["changed"].sum()
    colour = every[every["column"] == "colour"]
    assert colour["changed"].all()
    assert (colour["expected_probability"] < 0.9).all()
    with pytest.raises(SettingError, match="at_least"):
        detector.repair(rows, at_least=1.1)


def test_a_field_computed_from_dates_is_listed_and_no_date_is_changed(detector):
    rows = wrong_cells().copy()
    rows.loc["c9", "end"] = rows.loc["c9", "start"] - np.timedelta64(40, "D")
    repair = detector.repair(rows)
    cell = repair.changes.loc[["c9"]].set_index("column").loc["end - start"]
    assert cell["kept_because"] == "it is computed from other columns"
    assert repair.rows["end"].equals(rows["end"])


def test_a_cell_that_is_expected_to_be_missing_is_left():
    is_open = ["yes", "no"] * 300
    normal = pd.DataFrame({"open": is_open, "door": is_open, "until": [None, "June"] * 300})
    learned = TableDetector("kernel", progress=False).fit(normal)
    wrong = pd.DataFrame([["yes", "yes", "June"]] * 4, columns=normal.columns)
    rows = pd.concat([normal.head(20), wrong], ignore_index=True)
    repair = learned.repair(rows, 0.2)
    until = repair.changes[repair.changes["column"] == "until"]
    assert set(until["kept_because"]) == {"no value at all is expected"}
    assert set(until["expected"]) == {"missing"}
    assert repair.rows["until"].equals(rows["until"])


def test_a_table_without_odd_cells_comes_back_as_it_is(detector):
    rows = make_contracts(20, 5)
    repair = detector.repair(rows, 0.001)
    pd.testing.assert_frame_equal(repair.rows, rows)
    assert repair.n_changed == 0


def test_cells_that_fit_what_was_changed_in_their_row_stay():
    rng = np.random.default_rng(0)
    first = rng.choice(["a", "b", "c"], 600)
    # In one row of ten the third differs, so that it tells less than the others.
    third = np.where(rng.random(600) < 0.1, rng.choice(["a", "b", "c"], 600), first)
    normal = pd.DataFrame({"first": first, "second": first, "third": third})
    learned = TableDetector("kernel", progress=False).fit(normal)
    rows = pd.concat([normal.head(20), pd.DataFrame([["a", "b", "a"]] * 4, columns=normal.columns)], ignore_index=True)
    repair = learned.repair(rows, 0.3)
    listed = repair.changes[repair.changes["row"] >= 20].groupby("row")["column"].agg(set)
    assert (listed >= {"first", "second"}).all()
    assert repair.rows[20:].drop(columns="third").apply(lambda row: row.nunique() == 1, axis=1).all()
    kept = repair.changes[(repair.changes["row"] >= 20) & ~repair.changes["changed"]]
    assert "it fits what was changed in its row" in set(kept["kept_because"])


SHOPS = pd.DataFrame(
    {
        "country": ["Norway", "Sweden", "Jordan"],
        "currency": ["krone", "krona", "dinar"],
        "code": ["NO", "SE", "JO"],
        "calls": ["+47", "+46", "+962"],
        "capital": ["Oslo", "Stockholm", "Amman"],
    }
)


@pytest.fixture(scope="module")
def shops() -> TableDetector:
    """Most shops are in Norway."""
    return TableDetector("kernel", seed=0).fit(SHOPS.loc[np.repeat([0, 1, 2], [240, 40, 20])])


def test_a_typo_is_repaired_by_the_value_it_looks_like_and_not_by_the_likeliest(shops):
    rows = SHOPS.assign(country=["Nrway", "Swedn", "Jrodan"])
    cells = shops.odd_cells(rows, false_discovery_rate=0.5).set_index("column")
    assert cells.loc["country"].sort_values("row")["expected"].tolist() == ["Norway", "Sweden", "Jordan"]
    pd.testing.assert_frame_equal(shops.repair(rows, false_discovery_rate=0.5).rows, SHOPS)


def test_of_two_values_that_a_typo_looks_like_the_rest_of_the_row_decides(shops):
    rows = SHOPS.assign(currency="kron").head(2)
    codes = shops.encoder_.encode(rows)
    expected, probability = shops.suggested_codes(rows, codes, Places(np.array([0, 1]), np.array([1, 1])))
    assert [codes.schema.fields[1].label(int(code)) for code in expected] == ["krone", "krona"]
    assert (probability > 0.5).all()


def test_the_text_of_a_typo_says_more_than_the_rest_of_the_row(shops):
    rows = SHOPS.head(1).assign(country="Swedem", currency="?", code="?", calls="?")  # the capital is that of Norway
    codes, place = shops.encoder_.encode(rows), Places(np.array([0]), np.array([0]))
    likeliest, suggested = shops.expected_codes(codes, place)[0], shops.suggested_codes(rows, codes, place)[0]
    labels = codes.schema.fields[0].labels
    assert (labels[likeliest[0]], labels[suggested[0]]) == ("Norway", "Sweden")


def test_reasons_name_the_value_that_a_typo_looks_like_too(shops):
    rows = SHOPS.head(1).assign(country="Swedem", currency="?", code="?", calls="?")
    reasons = shops.explain(rows, top=5).set_index("column")
    assert (reasons.loc["country", "expected"], reasons.loc["country", "note"]) == (
        "Sweden",
        "one letter away from Sweden",
    )


def test_beside_a_cell_that_was_changed_one_of_several_likely_values_stays(shops):
    codes = shops.encoder_.encode(SHOPS.head(1))
    cells = ReportedCells(np.array([0, 0]), np.array([1, 0]), np.array([9.0, 5.0]), np.array([0.01, 0.01]))
    for own, stays in ((0.4, True), (0.04, False)):
        repairs = CellRepairs(cells, np.array([1, 1]), np.array([0.9, 0.6]), at_least=0.5)
        answers = [lambda codes, here: (np.array([2]), np.array([0.6])), lambda codes, here, own=own: np.array([own])]
        repairs.apply(SHOPS.head(1), codes, shops.encoder_, *answers)
        assert repairs.changed.tolist() == [True, not stays]


def test_a_look_alike_that_does_not_fit_the_row_is_not_suggested():
    meant = MeantValues.of([(3,)])
    expected, probability = meant.chosen(np.array([1]), np.array([0.95]), np.array([0.001]))
    assert (expected.tolist(), probability.tolist()) == ([1], [0.95])
