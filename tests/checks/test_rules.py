"""Each check fires on a table made for it, and stays silent on rows like those learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.checks import LEARNED_FROM, RULES, Check, CheckCounts, CheckSettings, run_checks
from maskdiff.datasets import make_claims
from maskdiff.errors import SettingError


def branches(n: int, seed: int, names: str = "abcde") -> pd.DataFrame:
    """Rows in which the product decides the price; each belongs to a branch that says nothing about the rest."""
    rng = np.random.default_rng(seed)
    product = rng.choice(["tea", "rice", "salt"], n, p=(0.5, 0.3, 0.2))
    price = np.array([len(p) * 10.0 for p in product]) + rng.normal(0, 2, n)
    return pd.DataFrame({"product": product, "price": price.round(1), "branch": rng.choice(list(names), n)})


@pytest.fixture(scope="module")
def detector() -> TableDetector:
    return TableDetector("kernel", progress=False).fit(branches(1500, seed=1))


def checked(detector: TableDetector, rows: pd.DataFrame, parts: int = 1, **more: Any) -> dict[str, Check]:
    counts = CheckCounts(detector, **more)
    for part in np.array_split(np.arange(len(rows)), parts):
        counts.add(detector.judge(rows.iloc[part], more.get("false_alarm_rate")))
    if more.get("false_discovery_rate"):
        counts.select(detector.select(rows, more["false_discovery_rate"]))
    return {check.name: check for check in run_checks(counts)}


@pytest.mark.parametrize("seed", range(2, 22))
def test_rows_like_those_learned_from_give_no_check(detector, seed):
    assert checked(detector, branches(1500, seed)) == {}


def test_claims_of_which_a_fifth_are_odd_give_no_check():
    claims, is_odd = make_claims(3000, seed=0)
    detector = TableDetector("kernel", progress=False).fit(claims[:2000][is_odd[:2000] == 0])
    assert checked(detector, claims[2000:]) == {}


def test_no_rows_give_no_check(detector):
    assert run_checks(CheckCounts(detector)) == []


# One column -----------------------------------------------------------------------------------------------------------


def test_a_column_that_nearly_all_alarms_are_due_to_is_named_with_what_is_odd_there(detector):
    rows = branches(200, seed=2)
    rows.loc[:39, "branch"] = "x"
    check = checked(detector, rows)["one_column"]
    assert check.details["column"] == "branch"
    assert check.details["unseen"] >= 38
    assert "'branch'" in check.message
    assert "never seen" in check.message
    assert "learn without it" in check.message
    assert check.details["drop"] == "branch"


@pytest.mark.parametrize("parts", [1, 7])
def test_the_column_is_named_when_alarms_are_selected_at_the_end(detector, parts):
    rows = branches(200, seed=2)
    rows.loc[:59, "branch"] = "x"
    check = checked(detector, rows, parts, false_discovery_rate=0.05)["one_column"]
    assert check.details["column"] == "branch"
    assert check.details["of"] == detector.select(rows, 0.05).sum()


def test_a_known_value_that_the_alarms_share_is_named():
    normal = branches(1500, seed=1)
    normal.loc[0, "branch"] = "z"
    rows = branches(200, seed=2)
    rows.loc[:59, "branch"] = "z"
    check = checked(TableDetector("kernel", progress=False).fit(normal), rows)["one_column"]
    assert "have z there" in check.message


def test_a_column_that_is_as_odd_in_the_other_rows_is_named_too(detector):
    rows = branches(200, seed=2, names="x")
    alarms = detector.is_anomaly(rows, 0.001).sum()
    assert 10 <= alarms < 200
    check = checked(detector, rows, false_alarm_rate=0.001)["one_column"]
    assert (check.details["column"], check.details["of"]) == ("branch", alarms)


def test_alarms_of_different_columns_name_none(detector):
    rows = branches(200, seed=2)
    rows.loc[:19, "branch"] = "x"
    rows.loc[20:39, "product"] = "soap"
    assert "one_column" not in checked(detector, rows)


def test_few_alarms_say_nothing_about_a_column(detector):
    rows = branches(200, seed=2)
    rows.loc[:4, "branch"] = "x"
    assert "one_column" not in checked(detector, rows)


# The number of alarms -------------------------------------------------------------------------------------------------


def test_more_alarms_than_promised_come_with_the_drift_that_explains_them(detector):
    rows = branches(500, seed=2).assign(price=lambda frame: frame.price + 60)
    check = checked(detector, rows, parts=3)["more_alarms_than_promised"]
    assert check.details["drift"][0]["column"] == "price"
    assert check.details["expected"] == pytest.approx(5)
    assert check.details["share_that_looks_normal"] < 0.5
    assert "Columns that changed most: 'price'" in check.message
    assert "far more than the 5 that 1% of normal rows are" in check.message


def test_rows_labelled_normal_need_no_other_sign(detector):
    rows = branches(1000, seed=2)
    rows.loc[:59, "branch"] = "x"
    assert "more_alarms_than_promised" not in checked(detector, rows)
    assert "labelled normal" in checked(detector, rows, labelled_normal=True)["more_alarms_than_promised"].message


def test_fewer_alarms_than_promised_say_so(detector):
    usual = branches(5000, seed=2)
    usual = usual[(usual["product"] == "tea") & usual.price.between(28, 32)]
    check = checked(detector, pd.concat([usual, usual]), false_alarm_rate=0.05)["fewer_alarms_than_promised"]
    assert check.details["alarms"] * 3 <= check.details["expected"]


def test_a_few_rows_that_are_all_odd_are_no_drift(detector):
    assert checked(detector, branches(3, seed=2).assign(branch="x", price=500.0)) == {}


# Rows learned from ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 7])
def test_rows_learned_from_are_named_with_how_many_of_them_there_are(parts):
    claims = make_claims(1200, seed=0)[0]
    detector = TableDetector("kernel", progress=False).fit(claims[:800])
    assert LEARNED_FROM not in checked(detector, claims[800:], parts)
    check = checked(detector, claims[600:1000], parts)[LEARNED_FROM]
    assert check.details["seen"] == pytest.approx(200, abs=2)
    assert check.details["learned_share"] == pytest.approx(0.5, abs=0.01)
    assert "of 400 rows equal rows the model learned from" in check.message
    whole = checked(detector, claims[:800], parts)
    assert whole[LEARNED_FROM].details["learned_share"] == 1
    assert "fewer_alarms_than_promised" not in whole


def test_rows_that_repeat_are_learned_ones_by_right():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.choice(list("abc"), 4000), "b": rng.choice(list("xyz"), 4000)})
    detector = TableDetector("kernel", progress=False).fit(rows[:2000])
    assert detector.judge(rows[2000:]).seen.all()
    assert LEARNED_FROM not in checked(detector, rows[2000:])
    assert LEARNED_FROM not in checked(detector, rows[:2000])


def test_copies_of_one_learned_row_and_usual_rows_alone_are_no_sign(detector):
    usual = branches(5000, seed=2)
    usual = usual[(usual["product"] == "tea") & usual.price.between(28, 32)]
    assert LEARNED_FROM not in checked(detector, usual)
    single = branches(1500, seed=1)[detector.judge(branches(1500, seed=1)).times_learned == 1]
    assert LEARNED_FROM not in checked(detector, pd.concat([single.head(1)] * 200 + [branches(300, seed=2)]))


# Calibration rows -----------------------------------------------------------------------------------------------------


def test_a_threshold_that_rests_on_one_row_says_how_many_there_are_and_the_way_out():
    detector = TableDetector("kernel", progress=False).fit(branches(128, seed=1))
    n = len(detector.calibration_)
    check = checked(detector, branches(50, seed=2))["few_calibration_rows"]
    assert check.details["calibration_rows"] == n
    assert check.details["finest_rate"] == pytest.approx(1 / (n + 1))
    assert check.details["higher_rate"] == 0.05
    assert f"only {n} calibration rows" in check.message
    assert "5%" in check.message
    assert "few_calibration_rows" not in checked(detector, branches(50, seed=2), false_alarm_rate=0.05)


def test_false_discovery_control_says_how_many_rows_it_needs():
    detector = TableDetector("kernel", progress=False).fit(branches(128, seed=1))
    rows = branches(600, seed=2)
    check = checked(detector, rows, false_discovery_rate=0.1)["few_calibration_rows"]
    needed, finest = check.details["rows_needed"], detector.calibration_.finest_rate
    # Benjamini-Hochberg: k rows with the smallest p-value are reported where finest <= 0.1 k / 600
    assert finest <= 0.1 * needed / 600
    assert finest > 0.1 * (needed - 1) / 600


# Settings and records -------------------------------------------------------------------------------------------------


def test_columns_that_the_model_never_saw_are_named(detector):
    check = checked(detector, branches(50, seed=2), unknown=["id", "y"])["unknown_columns"]
    assert check.to_record()["details"] == {"columns": ["id", "y"]}
    assert "id, y" in check.message


def test_settings_say_from_where_on_a_check_fires(detector):
    rows = branches(200, seed=2)
    rows.loc[:4, "branch"] = "x"
    counts = CheckCounts(detector).add(detector.judge(rows))
    strict = CheckSettings(fewest_alarms=3, one_column_share=0.5, interval=0.5)
    assert "one_column" in [check.name for check in run_checks(counts, strict)]


@pytest.mark.parametrize("wrong", [{"interval": 1.5}, {"fewest_alarms": 0}, {"higher_rates": (0.0,)}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError):
        CheckSettings(**wrong)


def test_every_rule_says_what_it_is_for():
    assert all(rule.__doc__ for rule in RULES)
