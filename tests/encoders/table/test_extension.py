"""A fitted encoder learns on: new values get codes, ranges widen, and what was known keeps its meaning."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.encoders.table.encoder import TableEncoder


def table(n: int, seed: int, *, colours: str = "rgb", high: float = 100.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    amount = rng.uniform(0, high, n).round(2)
    return pd.DataFrame({"colour": rng.choice(list(colours), n), "amount": amount, "n": rng.integers(0, 4, n)})


@pytest.fixture(scope="module")
def encoder() -> TableEncoder:
    return TableEncoder().fit(table(300, seed=0))


def test_old_codes_move_to_the_codes_the_same_rows_have_now(encoder):
    rows = table(300, seed=0)
    wider, extension = encoder.extended(table(200, seed=1, colours="brzg", high=300.0).assign(n=7))
    moved = extension.change.moved(encoder.encode(rows).values)
    assert (moved == wider.encode(rows).values).all()
    assert extension.new_values["colour"] == ("z",)
    assert extension.new_values["n"] == ("7",)
    assert "amount" in extension.widened
    unseen = np.array([[field.size for field in encoder.schema_]])
    assert extension.change.moved(unseen).tolist() == [[field.size for field in wider.schema_]]


def test_counts_are_those_of_all_rows(encoder):
    new = table(200, seed=1, colours="brzg", high=300.0)
    new.loc[:9, "colour"] = None
    wider, _ = encoder.extended(new)
    codes = wider.encode(pd.concat([table(300, seed=0), new])).values
    for at, field in enumerate(wider.schema_):
        assert np.bincount(codes[:, at], minlength=field.size + 1).tolist() == [*field.counts, 0]
    assert wider.schema_.fields[0].labels == ("b", "g", "r", "z", "missing")
    assert dict(wider.summary()[0])["missing"] == pytest.approx(10 / 500)


def test_the_most_extreme_number_has_a_bin_of_its_own_as_in_a_fit(encoder):
    new = table(3, seed=1).assign(amount=[-5.0, 400.0, 300.0])
    wider, _ = encoder.extended(new)
    field = wider.schema_.fields[1]
    assert (field.counts[0], field.counts[field.n_ordered - 1]) == (1, 1)
    assert not wider.encode(new.assign(amount=401.0)).known[:, 1].any()
    assert wider.notes(new.assign(amount=401.0), [0], ["amount"]) == ["largest seen 400"]


def test_rows_like_those_before_change_nothing_but_counts(encoder):
    wider, extension = encoder.extended(table(300, seed=0))
    assert [field.labels for field in wider.schema_] == [field.labels for field in encoder.schema_]
    assert not any(extension.new_values.values())
    assert not extension.widened
    assert wider.schema_.fields[0].counts == tuple(2 * n for n in encoder.schema_.fields[0].counts)


def test_more_values_than_there_is_room_for_are_rare():
    encoder = TableEncoder(max_categories=4).fit(table(300, seed=0))
    wider, _ = encoder.extended(table(300, seed=1, colours="uvw"))
    labels = wider.schema_.fields[0].labels
    assert len(labels) == 5
    assert labels[-1] == "rare"


def test_dates_widen_and_fields_computed_from_them_do():
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=400), "kind": ["a", "b"] * 200})
    encoder = TableEncoder().fit(days)
    later = days.assign(day=days["day"] + pd.Timedelta(days=300))
    wider, _ = encoder.extended(later)
    assert wider.encode(later).known.all()
    assert TableEncoder.from_state(wider.to_state()).schema_ == wider.schema_
