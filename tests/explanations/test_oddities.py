"""Rows are odd by one cell, rare in itself or in its context, or as a whole, far from all normal rows."""

import numpy as np
import pandas as pd
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.codes import Codes, Field, Schema
from maskdiff.errors import SettingError
from maskdiff.explanations.oddities import FAR, IN_CONTEXT, RARE, UsualRange, UsualRows, oddities

N = 1000


def usual_rows():
    """One term of the network and one that compares with normal rows, each from 0 to 1, as the oddest cells."""
    spread = np.linspace(0, 1, N)
    return UsualRows.of(np.column_stack([spread, np.zeros(N)]), np.column_stack([spread, spread]))


@pytest.mark.parametrize(
    ("oddest", "network", "compared", "by_one_cell"),
    [(3.0, 2.0, 2.0, True), (3.0, 2.0, 4.0, False), (3.0, 5.0, 4.0, True), (0.5, 9.0, 0.5, False)],
)
def test_a_row_is_odd_by_one_cell_unless_normal_rows_are_further_away(oddest, network, compared, by_one_cell):
    both, compares = np.array([[network, compared]]), np.array([False, True])
    found = usual_rows().by_one_cell(np.array([[oddest, 0.0]]), both, compares)
    assert found.tolist() == [by_one_cell]


def test_a_value_is_rare_if_few_normal_rows_hold_one_as_rare():
    many = Field("many", "category", tuple(map(str, range(500))), (2,) * 500)
    few = Field("few", "category", ("a", "b"), (995, 5))
    codes = Codes(np.array([[7, 0], [7, 1], [500, 0], [7, 0], [7, 0]]), Schema((many, few)))
    by_one_cell, p_value = np.array([True, True, True, False, False]), np.array([0.5, 0.01, 0.01, 0.01, 0.5])
    words = oddities(by_one_cell, p_value, codes, np.array([0, 1, 0, 0, 0]))
    assert words.tolist() == [IN_CONTEXT, RARE, RARE, FAR, ""]


def test_ranges_that_are_empty_are_refused_and_equal_values_make_none():
    assert UsualRange.of(np.ones(10)).place(np.array([1.0])).tolist() == [0.0]
    with pytest.raises(SettingError, match="must be finite"):
        UsualRange(1.0, 1.0)


@pytest.fixture(scope="module")
def detector():
    quick = MLPReconstructor(width=64, training=Training(Steps(200)))
    return TableDetector(quick, cross_fit_up_to=0, progress=False).fit(pets(1500, 0))


def pets(n, seed):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, 3, n)
    says = np.array(["meow", "woof", "tweet"])[at]
    return pd.DataFrame({"pet": np.array(["cat", "dog", "bird"])[at], "says": says, "age": rng.integers(0, 9, n)})


def test_explanations_and_records_say_what_makes_a_row_odd(detector):
    rows = pets(3, 1).assign(pet=["cat", "unicorn", "cat"], says=["woof", "meow", "meow"])
    verdicts = detector.judge(rows)
    assert verdicts.oddity[:2].tolist() == [IN_CONTEXT, RARE]
    reasons = detector.explain(rows, top=2, verdicts=verdicts)
    assert reasons["oddity"].tolist() == verdicts.oddity[reasons["row"]].tolist()
    assert [record["oddity"] for record in verdicts.to_records()] == verdicts.oddity.tolist()
    assert verdicts.take(np.array([1])).oddity.tolist() == [RARE]
    normal = detector.judge(pets(500, 2))
    assert (normal.oddity == "").mean() > 0.8
    assert (normal.oddity[normal.is_anomaly] != "").all()
