"""Drift against the normal rows equals hand calculations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff.drift.columns import ColumnDrift, DriftCounts
from maskdiff.drift.statistics import distance_by_chance, homogeneity_p_value
from maskdiff.encoders.table.encoder import TableEncoder


def drift_of(normal: dict[str, Any], scored: dict[str, Any], parts: int = 1) -> dict[str, ColumnDrift]:
    encoder = TableEncoder().fit(pd.DataFrame(normal))
    counts = DriftCounts(encoder)
    table = pd.DataFrame(scored)
    for rows in np.array_split(np.arange(len(table)), parts):
        part = table.iloc[rows]
        counts.add(part, encoder.encode(part))
    return {column.name: column for column in counts.columns()}


def test_distance_shares_and_changes_equal_a_hand_calculation() -> None:
    normal = {"colour": ["red"] * 60 + ["blue"] * 40}
    scored = {"colour": ["red"] * 20 + ["blue"] * 60 + ["green"] * 15 + [None] * 5}
    colour = drift_of(normal, scored)["colour"]
    # red 60% -> 20%, blue 40% -> 60%, unseen 0% -> 20%: half of 40 + 20 + 20
    assert colour.distance == pytest.approx(0.4)
    assert colour.unseen == pytest.approx(0.15)
    assert colour.missing == pytest.approx(0.05)
    assert colour.missing_before == 0
    assert colour.new_values == (("green", 15),)
    assert [(c.label, c.before, c.now) for c in colour.changes] == [
        ("red", pytest.approx(0.6), pytest.approx(0.2)),
        ("blue", pytest.approx(0.4), pytest.approx(0.6)),
    ]
    assert colour.level == "strong"


def test_missing_values_seen_in_training_are_missing_and_not_new() -> None:
    normal = {"age": [1, 2, 3, 4] * 20 + [None] * 20}
    age = drift_of(normal, {"age": [1, 2, 3, 4] * 10 + [None] * 60})["age"]
    assert (age.missing_before, age.missing, age.unseen) == (0.2, 0.6, 0.0)
    assert age.distance == pytest.approx(0.4)
    assert age.new_values == ()


def test_drift_does_not_depend_on_the_batches() -> None:
    rng = np.random.default_rng(0)
    normal = {"a": rng.choice(list("xyz"), 300), "b": rng.normal(size=300)}
    scored = {"a": rng.choice(list("wxyz"), 90), "b": rng.normal(1, 1, size=90)}
    assert drift_of(normal, scored) == drift_of(normal, scored, parts=7)


def test_columns_are_listed_by_how_far_they_moved() -> None:
    normal = {name: ["x", "y"] * 200 for name in ("still", "moved", "moved_most")}
    scored = {"still": ["x", "y"] * 100, "moved": ["x"] * 150 + ["y"] * 50, "moved_most": ["x"] * 200}
    drifts = drift_of(normal, scored)
    assert list(drifts) == ["moved_most", "moved", "still"]
    assert [drift.level for drift in drifts.values()] == ["strong", "strong", "chance"]


def test_samples_of_one_distribution_differ_only_by_chance() -> None:
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(200)]
    normal = {name: rng.choice(list("abcdefgh"), 400) for name in names}
    drifts = drift_of(normal, {name: rng.choice(list("abcdefgh"), 150) for name in names}).values()
    assert sum(drift.level != "chance" for drift in drifts) <= 1
    observed, by_chance = [drift.distance for drift in drifts], [drift.by_chance for drift in drifts]
    assert np.mean(observed) == pytest.approx(np.mean(by_chance), rel=0.1)


def test_a_few_values_never_seen_are_more_than_chance() -> None:
    rng = np.random.default_rng(2)
    normal = {"a": rng.choice(["x", "y"], 4000)}
    assert drift_of(normal, {"a": [*rng.choice(["x", "y"], 990), *["z"] * 10]})["a"].level == "slight"


def test_the_chi_square_test_agrees_with_scipy() -> None:
    from scipy.stats import chi2_contingency

    learned, scored = np.array([120, 80, 50]), np.array([60, 70, 20])
    assert homogeneity_p_value(learned, scored) == pytest.approx(chi2_contingency([learned, scored]).pvalue)


def test_no_rows_have_not_drifted() -> None:
    encoder = TableEncoder().fit(pd.DataFrame({"a": ["x", "y"]}))
    (column,) = DriftCounts(encoder).columns()
    assert (column.distance, column.level, column.changes) == (0.0, "chance", ())
    assert distance_by_chance(np.array([1, 1]), np.array([0, 0])) == 0.0
