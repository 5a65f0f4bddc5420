"""Two cells contradict each other where each is odd beside the other, and neither is without it."""

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.explanations import contradictions, odd_cells

SEATS = {"minibus": "9", "sedan": "5", "coupe": "2", "van": "3"}


def vehicles(n, seed):
    """Seats follow from the body; colours and doors from nothing."""
    rng = np.random.default_rng(seed)
    body = rng.choice(list(SEATS), n)
    return pd.DataFrame(
        {
            "body": body,
            "seats": [SEATS[one] for one in body],
            "colour": rng.choice(["red", "blue", "grey"], n),
            "doors": rng.choice(["3", "5"], n),
        }
    )


@pytest.fixture(scope="module")
def detector():
    return TableDetector("kernel", progress=False).fit(vehicles(600, 0))


@pytest.fixture(scope="module")
def odd():
    rows = vehicles(4, 1)
    rows.loc[0, ["body", "seats"]] = "minibus", "2"
    rows.loc[1, ["body", "seats"]] = "coupe", "5"
    rows.loc[2, "colour"] = "never seen"
    return rows


def test_each_of_the_two_cells_names_the_other(detector, odd):
    reasons = detector.explain(odd, top=2)
    found = {(line.row, line.column): line.contradicts for line in reasons.itertuples()}
    assert found[0, "body"] == "seats = 2"
    assert found[0, "seats"] == "body = minibus"
    assert found[1, "body"] == "seats = 5"


def test_normal_rows_and_values_never_seen_contradict_nothing(detector, odd):
    assert not detector.explain(odd[2:], top=4)["contradicts"].any()
    assert not detector.explain(vehicles(100, 2), top=4)["contradicts"].any()


def test_a_cell_that_the_rest_contradicts_in_two_ways_has_no_partner():
    """With one of the two hidden, the other one still contradicts it."""
    normal = vehicles(600, 0).assign(licence=lambda rows: rows["seats"].map({"9": "D", "5": "B", "2": "B1", "3": "C"}))
    row = normal[normal["body"] == "sedan"][:1].assign(body="minibus")
    reasons = TableDetector("kernel", progress=False).fit(normal).explain(row, top=1)
    assert reasons[["column", "contradicts"]].to_numpy().tolist() == [["body", ""]]


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_many_rows_are_answered_as_each_alone(detector, odd, at_once):
    verdicts = detector.judge(pd.concat([odd] * 3))
    reasons = odd_cells(verdicts.contributions, 4)
    how = {"mask_rate": 0.1, "device": "cpu", "cells_at_once": at_once}
    every = np.ones(verdicts.codes.values.shape, bool)
    pairs = contradictions(detector.reconstructor_, verdicts.codes, reasons, every, **how)
    assert pairs[:, 0].tolist() == [pairs[0, 0], pairs[1, 0], -1, -1] * 3
    assert {*pairs[0]} == {*pairs[1]} == {0, 1}
    # Nothing is asked about cells that are not odd.
    none = contradictions(None, verdicts.codes, reasons, ~every, **how)
    assert (none == -1).all()
