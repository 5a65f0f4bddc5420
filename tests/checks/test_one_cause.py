"""Alarms with one cause name the column or the token, and for computed fields the columns they come from."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.checks import Check, CheckCounts, run_checks
from maskdiff.cli.hints import check_with_hint

from ..report.samples import SAYS, log_detector, text_detector


def one_token(detector: object, rows: list[object], **settings: float) -> Check | None:
    counts = CheckCounts(detector, **settings)
    for part in (rows[:17], rows[17:]):
        counts.add(detector.judge(part))
    if "false_discovery_rate" in settings:
        counts.select(detector.select(rows, settings["false_discovery_rate"]))
    return next((check for check in run_checks(counts) if check.name == "one_token"), None)


# Computed fields ------------------------------------------------------------------------------------------------------


@cache
def visits_detector() -> TableDetector:
    return TableDetector("kernel", columns={"seen": "date", "sent": "date"}, progress=False).fit(visits(400, 1))


def visits(n: int, seed: int) -> pd.DataFrame:
    """Visits on weekdays, each with a bill sent some days later."""
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2023-01-02", periods=300)
    seen = days[rng.integers(0, 300, n)]
    sent = seen + pd.to_timedelta(rng.integers(1, 5, n), unit="D")
    return pd.DataFrame({"seen": seen, "sent": sent, "kind": rng.choice(["first", "again"], n)})


def test_a_weekday_is_named_with_the_column_it_is_computed_from() -> None:
    rows = visits(100, 2)
    rows.loc[:39, "seen"] = pd.Timestamp("2023-06-04")
    rows.loc[:39, "sent"] = pd.Timestamp("2023-06-07")
    counts = CheckCounts(visits_detector()).add(visits_detector().judge(rows))
    check = {check.name: check for check in run_checks(counts)}["one_column"]
    assert check.details["column"] == "seen weekday"
    assert "'seen weekday', computed from the column 'seen'" in check.message
    assert check_with_hint(check).endswith("(On the command line: fit with --drop seen.)")


def test_a_difference_is_named_with_both_columns() -> None:
    rows = visits(100, 2)
    rows.loc[:39, "sent"] = rows["seen"][:40] - pd.Timedelta(days=90)
    counts = CheckCounts(visits_detector()).add(visits_detector().judge(rows))
    check = {check.name: check for check in run_checks(counts)}["one_column"]
    assert "'sent - seen', computed from the columns 'sent' and 'seen'" in check.message
    assert check.details["drop"] in rows.columns


def test_a_bin_is_written_as_people_write_it() -> None:
    rng = np.random.default_rng(0)
    normal = pd.DataFrame({"a": rng.normal(50, 5, 900).round(1), "b": rng.choice(["x", "y"], 900)})
    normal.loc[normal["a"] > 50, "b"] = "x"
    rows = pd.DataFrame({"a": [49.9] * 200, "b": ["y"] * 200})
    rows.loc[:99, "a"] = normal["a"].max()
    counts = CheckCounts(TableDetector("kernel", progress=False).fit(normal))
    check = {check.name: check for check in run_checks(counts.add(counts.detector.judge(rows)))}["one_column"]
    assert " to " in check.message
    assert "]" not in check.message


# Tokens ---------------------------------------------------------------------------------------------------------------


def headed(n: int, word: str) -> list[str]:
    """Texts of which a third begin with the same word."""
    return [f"{word} {SAYS[i % 4]}" if i < n // 3 else SAYS[i % 4] for i in range(n)]


@pytest.mark.parametrize("settings", [{}, {"false_discovery_rate": 0.2}], ids=["rate", "discoveries"])
def test_a_word_that_nearly_all_alarms_are_due_to_is_named(settings: dict[str, float]) -> None:
    check = one_token(text_detector(), headed(60, "Zyzzogeton"), **settings)
    assert check is not None
    assert check.details["token"] == "Zyzzogeton"
    assert check.details["alarms"] >= 0.9 * check.details["of"] >= 18
    assert "the token 'Zyzzogeton', which the model has never seen" in check.message


def test_a_symbol_is_named_too() -> None:
    rows = [["open", "steal", "close"]] * 20 + [["open", "read", "close"]] * 40
    check = one_token(log_detector(), rows)
    assert check is not None
    assert "the symbol 'steal'" in check.message
    assert "sequence" in check.message


def test_alarms_of_different_words_name_none() -> None:
    rows = [f"{word} you at ten" for word in ("zoo", "prize", "cash", "gold", "lamp", "bike")] * 5
    assert one_token(text_detector(), rows + headed(30, "see")) is None


@pytest.mark.parametrize(("in_others", "is_named"), [(0, True), (90, False)])
def test_a_symbol_that_is_the_strongest_of_every_row_is_not_to_blame(in_others: int, is_named: bool) -> None:
    counts = CheckCounts(log_detector())
    counts.rows, counts.alarms, counts.strongest.others = 120, 20, 100
    counts.strongest.in_alarms["open"], counts.strongest.in_others["open"] = 20, in_others
    assert ("one_token" in [check.name for check in run_checks(counts)]) == is_named
