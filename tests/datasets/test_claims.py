from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.datasets import make_claims
from maskdiff.datasets.claims import COLUMNS
from maskdiff.errors import SettingError

# Hours (times the complexity) and share of the price for each issue and issue_id, as the recipe gives them.
REPAIRS = {
    ("Steering Wheel Shaking", 0): (1, 0.001),
    ("Brake Pads Worn", 0): (2, 0.0005),
    ("Flat Tyres", 0): (1, 0.0003),
    ("Tyre Alignment", 0): (0.5, 0.0001),
    ("Alternator Failing", 0): (2, 0.02),
    ("Radiator Leaking", 0): (2, 0.02),
    ("Starter Motor Issue", 0): (3, 0.01),
    ("Windscreen Crack", 0): (1, 0.0006),
    ("Excessive Emissions", 0): (1, 0.0009),
    ("Sensor Malfunction", 0): (3, 0.05),
    ("Gear Box Issue", 0): (2, 0.01),
    ("Warning Light", 0): (9, 0.01),
    ("Electrical Issue", 1): (2, 0.001),
    ("Electrical Issue", 2): (0.5, 0.002),
    ("Electrical Issue", 3): (1, 0.005),
    ("Electrical Issue", 4): (2, 0.003),
    ("Electrical Issue", 5): (3, 0.001),
    ("Engine Issue", 1): (8, 0.2),
    ("Engine Issue", 2): (16, 0.15),
    ("Engine Issue", 3): (12, 0.1),
    ("Engine Issue", 4): (10, 0.05),
    ("Transmission Issue", 1): (4, 0.003),
    ("Transmission Issue", 2): (3, 0.007),
    ("Transmission Issue", 3): (8, 0.009),
}
IMPOSSIBLE = {
    "Color": "Gelb",
    "Reg_year": 3010,
    "Bodytype": "Wood",
    "Engin_size": "999.0L",
    "Gearbox": "Hybrid",
    "Fuel_type": "Hydrogen",
    "Door_num": 0,
}
DRAWN = {"Price": (-700_000, 70_000), "Seat_num": (10, 20), "Runned_Miles": (-20_000, -1)}


@pytest.fixture(scope="module")
def claims():
    return make_claims(40_000, seed=3, return_cells=True)


def expected_hours_and_cost(X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    h, p = np.array([REPAIRS[issue] for issue in zip(X["issue"], X["issue_id"], strict=True)]).T
    hours = X["repair_complexity"].to_numpy() * h
    return hours, 20 * hours + X["Price"].to_numpy() * p


def test_the_same_seed_gives_the_same_claims_and_another_seed_others():
    X, y, cells = make_claims(500, seed=7, return_cells=True)
    again, y_again, cells_again = make_claims(500, seed=7, return_cells=True)
    pd.testing.assert_frame_equal(X, again)
    pd.testing.assert_frame_equal(cells, cells_again)
    assert y.tolist() == y_again.tolist()
    assert not X.equals(make_claims(500, seed=8)[0])


def test_asking_for_the_cells_does_not_change_the_claims():
    pd.testing.assert_frame_equal(make_claims(200)[0], make_claims(200, return_cells=True)[0])


def test_columns_are_the_seventeen_of_the_evaluation_with_text_whole_numbers_and_decimals(claims):
    X, y, cells = claims
    assert list(X.columns) == list(cells.columns) == list(COLUMNS)
    assert len(COLUMNS) == 17
    decimals = {"repair_cost", "repair_hours"}
    text = {"Maker", "Genmodel", "Color", "Bodytype", "Engin_size", "Gearbox", "Fuel_type", "issue"}
    for name in COLUMNS:
        assert pd.api.types.is_string_dtype(X[name]) == (name in text)
        assert pd.api.types.is_float_dtype(X[name]) == (name in decimals)
        assert pd.api.types.is_integer_dtype(X[name]) == (name not in text | decimals)
    assert not X.isna().to_numpy().any()
    assert y.dtype == np.int8


def test_a_claim_is_an_anomaly_exactly_when_a_cell_was_tampered_with(claims):
    _, y, cells = claims
    assert (cells.any(axis=1).to_numpy() == (y == 1)).all()


def test_about_a_fifth_of_the_claims_are_anomalies(claims):
    _, y, cells = claims
    assert 0.20 < y.mean() < 0.22
    lost = cells.drop(columns=["repair_cost", "repair_hours"]).any(axis=1)
    assert 0.11 < lost.mean() < 0.13


def test_normal_claims_obey_the_repair_formulas_exactly(claims):
    X, y, _ = claims
    normal = X[y == 0]
    hours, cost = expected_hours_and_cost(normal)
    assert (normal["repair_hours"] == hours).all()
    assert (normal["repair_cost"] == cost).all()


def test_every_issue_and_every_repair_occurs_and_issues_are_equally_common(claims):
    X, _, _ = claims
    assert set(zip(X["issue"], X["issue_id"], strict=True)) == set(REPAIRS)
    shares = X["issue"].value_counts(normalize=True)
    assert np.allclose(shares, 1 / 15, atol=0.01)


def test_every_tenth_cost_is_inflated_and_every_twentieth_has_its_hours_replaced(claims):
    X, _, cells = claims
    place = np.arange(1, len(X) + 1)
    honest_price = ~cells["Price"].to_numpy()
    _, cost = expected_hours_and_cost(X)
    inflated = (place % 10 == 0) & honest_price
    assert cells["repair_cost"].to_numpy()[place % 10 == 0].all()
    ratio = X["repair_cost"].to_numpy() / cost
    assert ((ratio[inflated] >= 3) & (ratio[inflated] <= 6)).all()
    replaced = (place % 20 == 0) & honest_price & (X["repair_hours"] > 0).to_numpy()
    assert cells["repair_hours"].to_numpy()[place % 20 == 0].all()
    times = X["repair_hours"].to_numpy() / cost
    assert ((times[replaced] >= 3) & (times[replaced] <= 4)).all()
    assert not cells["repair_cost"].to_numpy()[(place % 10 != 0) & honest_price].any()


@pytest.mark.parametrize("name", sorted(IMPOSSIBLE))
def test_an_impossible_value_stands_in_every_tampered_cell_and_nowhere_else(claims, name):
    X, _, cells = claims
    assert ((X[name] == IMPOSSIBLE[name]) == cells[name]).all()


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_lost_numbers_are_drawn_from_their_range(claims, name):
    X, _, cells = claims
    least, most = DRAWN[name]
    drawn = X.loc[cells[name], name]
    assert len(drawn) > 50
    assert drawn.between(least, most).all()
    assert drawn.nunique() > 5


def test_a_lost_price_takes_the_cost_with_it(claims):
    X, _, cells = claims
    assert X.loc[cells["Price"], "repair_cost"].between(-3000, -100).all()
    assert cells.loc[cells["Price"], "repair_cost"].all()


def test_normal_cars_are_possible_cars(claims):
    X, y, _ = claims
    normal = X[y == 0]
    assert normal["Reg_year"].between(1998, 2018).all()
    assert (normal["Price"] >= 300).all()
    assert (normal["Runned_Miles"] >= 1).all()
    assert normal["Seat_num"].between(2, 9).all()
    assert normal["Door_num"].between(2, 5).all()
    assert (normal.groupby("Genmodel")["Maker"].nunique() == 1).all()
    assert (normal.groupby("Maker")["repair_complexity"].nunique() == 1).all()
    assert set(normal["repair_complexity"]) == {1, 2, 3, 4}
    assert ((normal["Engin_size"] == "0.0L") == (normal["Fuel_type"] == "Electric")).all()


def test_old_and_much_driven_cars_are_worth_less(claims):
    X, y, _ = claims
    lantern = X[(y == 0) & (X["Genmodel"] == "Lantern")]
    assert lantern["Price"].corr(lantern["Reg_year"], method="spearman") > 0.9
    assert lantern["Price"].corr(lantern["Runned_Miles"], method="spearman") < -0.8


@pytest.mark.parametrize("n", [0, 1, 9])
def test_a_few_claims_are_as_good_as_many(n):
    X, y, cells = make_claims(n, return_cells=True)
    assert X.shape == cells.shape == (n, 17)
    assert y.shape == (n,)


def test_fewer_than_no_claims_are_refused():
    with pytest.raises(SettingError, match="got -1"):
        make_claims(-1)
