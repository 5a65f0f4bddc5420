"""Numbers beyond all that were seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.beyond import MOST_EXCESS, excess_beyond
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
    assert up[1] < 0.001


def test_numbers_that_are_few_enough_to_be_categories_count_too() -> None:
    beyond = excess(rows(*[200.0] * 4, doors=[5, 3, 6, 500]))[:, 1]
    assert (beyond[:2] == 0).all()
    assert 0 < beyond[2] < beyond[3]


def test_what_is_no_number_is_not_beyond() -> None:
    assert TableEncoder().fit(AMOUNTS).encode(rows(None, 200.0, "many", town="z")).excess is None


@pytest.mark.parametrize("within", [(0.0, 0.0), (7.0, 7.0), (-1.7e308, 1.7e308), (0.0, 5e-324)])
def test_any_range_gives_finite_costs(within: tuple[float, float]) -> None:
    beyond = excess_beyond(np.array([-np.inf, -1.75e308, 0.0, np.nan, 8.0, 1.75e308, np.inf]), within)
    assert np.isfinite(beyond).all()
    assert (beyond >= 0).all()
    assert (beyond <= MOST_EXCESS).all()


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
    for wrong in ([5.0, 2.0], [0.0, float("inf")], ["a", "b"], [1, 2]):
        with pytest.raises(ModelFileError):
            TableEncoder.from_state(state | {"columns": [{**one, "range": wrong} for one in state["columns"]]})
