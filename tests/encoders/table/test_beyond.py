"""Numbers beyond all that were seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.beyond import MOST_EXCESS, NumberRange, Tail, learned_range
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ModelFileError

AMOUNTS = pd.DataFrame({"amount": np.linspace(120, 6517, 300), "doors": [2, 4, 5] * 100, "town": list("abc") * 100})


def rows(*amounts: object, doors: object = 2, town: str = "a") -> pd.DataFrame:
    return pd.DataFrame({"amount": amounts, "doors": doors, "town": town})


def excess(table: pd.DataFrame, **settings: int) -> np.ndarray:
    codes = TableEncoder(**settings).fit(AMOUNTS).encode(table)
    return np.zeros(codes.values.shape) if codes.excess is None else codes.excess


def test_the_further_beyond_the_more_it_costs() -> None:
    up = excess(rows(6517, 6518, 6600, 9_000, 99_999_999, 1e300, np.inf))[:, 0]
    down = excess(rows(120, 119, -5, -99_999, -1e300, -np.inf))[:, 0]
    for beyond in (up, down):
        assert beyond[0] == 0
        assert (np.diff(beyond[:-1]) >= 0).all()
        assert (np.diff(beyond[:4]) > 0).all()
        assert beyond[-1] == pytest.approx(MOST_EXCESS)
    assert up[1] < 0.01


def test_numbers_that_are_few_enough_to_be_categories_count_too() -> None:
    beyond = excess(rows(*[200.0] * 4, doors=[5, 3, 6, 500]))[:, 1]
    assert (beyond[:2] == 0).all()
    assert 0 < beyond[2] < beyond[3]


def test_what_is_no_number_is_not_beyond() -> None:
    assert TableEncoder().fit(AMOUNTS).encode(rows(None, 200.0, "many", town="z")).excess is None


def range_of(numbers: np.ndarray) -> NumberRange:
    values, counts = np.unique(np.asarray(numbers, float), return_counts=True)
    return learned_range(values, counts, float(values[0]), float(values[-1]))


@pytest.mark.parametrize("seen", [[0.0], [7.0, 7.0], [-1.7e308, 1.7e308], [0.0, 5e-324], [1e-300, 2e-300, 1e300]])
def test_any_range_gives_finite_costs(seen: list[float]) -> None:
    within = range_of(np.array(seen))
    assert within.is_sound()
    beyond = within.excess(np.array([-np.inf, -1.75e308, 0.0, np.nan, 8.0, 1.75e308, np.inf]))
    assert np.isfinite(beyond).all()
    assert (beyond >= 0).all()
    assert (beyond <= MOST_EXCESS).all()


def test_ten_times_the_largest_costs_less_where_the_largest_are_far_apart() -> None:
    ranks = (np.arange(1000) + 0.5) / 1000
    tails = {"even": ranks, "exponential": -np.log(ranks), "heavy": ranks**-0.5, "heavier": 1 / ranks}
    costs = {name: range_of(seen).excess(np.array([10 * seen.max()]))[0] for name, seen in tails.items()}
    assert costs["even"] > costs["exponential"] > costs["heavy"] > costs["heavier"]
    # That of a hyperbola is known: a tenth as many numbers are ten times as large.
    assert costs["heavier"] == pytest.approx(np.log(10), rel=0.4)
    assert costs["even"] > 15


def test_how_often_new_numbers_are_so_far_beyond_is_about_what_it_costs() -> None:
    rng = np.random.default_rng(0)
    costs = []
    for _ in range(300):
        seen = rng.exponential(size=200)
        new = rng.exponential(size=2000)
        costs.extend(range_of(seen).excess(new[new > seen.max()]))
    # Were the tail known, costs would be exponential with a mean of one.
    assert 0.7 < np.mean(costs) < 1.4


def test_whole_numbers_thin_out_no_faster_than_by_their_gaps() -> None:
    days = range_of(np.arange(15).repeat(60))
    cost = days.excess(np.array([-1.0, -3.0, -30.0]))
    assert cost[0] == pytest.approx(1, abs=0.2)
    assert cost[1] == pytest.approx(3, abs=0.4)
    assert cost[2] > 12


def test_many_equal_numbers_at_one_end_leave_the_other_as_it_is() -> None:
    amounts = np.linspace(1, 100, 100)
    mostly_none = range_of(np.concatenate([np.zeros(900), amounts]))
    assert mostly_none.above.scale == pytest.approx(range_of(amounts).above.scale, rel=10)
    assert mostly_none.excess(np.array([-0.5]))[0] < 1


def test_without_tails_nothing_is_beyond() -> None:
    assert not excess(rows(99_999_999, doors=77), tails=0).any()


def test_dates_go_on_but_those_far_beyond_count() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"day": pd.date_range("2024-01-01", "2024-03-31")}))
    soon, far = pd.DataFrame({"day": ["2024-06-01"]}), pd.DataFrame({"day": ["1900-01-01", "2099-01-01", "2999-01-01"]})
    assert encoder.encode(soon).excess is None
    beyond = encoder.encode(far).excess
    assert beyond is not None
    assert 0 < beyond[1, 0] < beyond[2, 0]
    notes = encoder.notes(far, [0, 1, 2], ["day"] * 3)
    assert notes == ["earliest seen 2024-01-01", "latest seen 2024-03-31", "latest seen 2024-03-31"]
    assert encoder.notes(soon, [0], ["day"]) == [""]


def test_a_note_names_the_number_seen_that_a_cell_is_beyond() -> None:
    encoder = TableEncoder().fit(AMOUNTS)
    table = rows(99_999_999, -5, 300, doors=[9, 2, None])
    notes = encoder.notes(table, [0, 1, 2, 0, 1, 2, 0], ["amount"] * 3 + ["doors"] * 3 + ["town"])
    assert notes == ["largest seen 6517", "smallest seen 120", "", "largest seen 5", "", "", ""]


def test_a_stored_encoder_counts_alike_and_a_range_that_is_none_is_refused() -> None:
    encoder = TableEncoder().fit(AMOUNTS)
    state = encoder.to_state()
    table = rows(7_000, -5, doors=9)
    np.testing.assert_array_equal(TableEncoder.from_state(state).encode(table).excess, encoder.encode(table).excess)
    sound = NumberRange(0.0, 1e9, Tail(1.0, 0.5), Tail(1.0, 0.5)).to_state()
    wrong_parts = [
        *({"low": 5.0, "high": 2.0}, {"high": float("inf")}, {"low": "a"}, {"low": 1}, {"below": [0.0, 0.5]}),
        *(
            {"above": [1.0, 0.0]},
            {"above": [1.0, 2.0]},
            {"above": [float("nan"), 0.5]},
            {"above": [1.0]},
            {"low": None},
        ),
    ]
    for wrong in ([5.0, 2.0], "range", {}, *(sound | part for part in wrong_parts)):
        with pytest.raises(ModelFileError):
            TableEncoder.from_state(state | {"columns": [{**one, "range": wrong} for one in state["columns"]]})
