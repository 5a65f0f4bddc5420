"""Planted errors are what they claim to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.bench.studies.cells.groups import associations, identifies_rows
from maskdiff.bench.studies.cells.planting import (
    EXPECTED_TOGETHER,
    PLANTINGS,
    Contradiction,
    NormalRows,
    Planted,
    mistyped,
    plant_one,
    plant_share,
)

BREEDS = {
    "cat": ("Manx", "Persian", "Siamese"),
    "dog": ("Beagle", "Boxer", "Poodle"),
    "eel": ("Guppy", "Koi", "Tench"),
}


@pytest.fixture(scope="module")
def pets() -> pd.DataFrame:
    """A breed belongs to one species, the weight depends on the species, the number is the row's."""
    rng = np.random.default_rng(0)
    species = rng.choice(list(BREEDS), 600)
    weight = rng.uniform(1, 2, 600) * np.array([{"cat": 4.0, "dog": 20.0, "eel": 0.1}[one] for one in species])
    breed = [str(rng.choice(BREEDS[one])) for one in species]
    legs = np.where(species == "eel", 0, 4)
    columns = {"species": species, "breed": breed, "legs": legs, "weight": weight, "number": rng.permutation(600)}
    table = pd.DataFrame(columns).astype({"species": object, "breed": object})
    table.loc[::50, "breed"] = None
    return table


@pytest.fixture(scope="module")
def normal(pets: pd.DataFrame) -> NormalRows:
    return NormalRows(pets.iloc[:400])


@pytest.fixture(scope="module")
def unseen(pets: pd.DataFrame) -> pd.DataFrame:
    return pets.iloc[400:].reset_index(drop=True)


def planted_with(name: str, normal: NormalRows, unseen: pd.DataFrame, seed: int = 0) -> Planted:
    return plant_one(unseen, PLANTINGS[name](normal), np.random.default_rng(seed))


def cells(X: pd.DataFrame, planted: Planted, column: int) -> pd.Series:
    return X.iloc[:, column].iloc[planted.row[planted.column == column]]


@pytest.mark.parametrize("name", PLANTINGS)
def test_one_cell_of_each_row_is_changed_and_no_other(name: str, normal: NormalRows, unseen: pd.DataFrame) -> None:
    planted = planted_with(name, normal, unseen)
    before = unseen.iloc[planted.source].reset_index(drop=True)
    same = (before == planted.X) | (planted.X.isna() & before.isna())
    np.testing.assert_array_equal(~same.to_numpy(), planted.wrong)
    assert planted.wrong.sum(axis=1).tolist() == [1] * len(planted.X)
    assert len(planted.X) > 150
    assert "number" not in unseen.columns[np.unique(planted.column)]


@pytest.mark.parametrize("name", PLANTINGS)
def test_equal_seeds_plant_equal_errors_and_others_do_not(name: str, normal: NormalRows, unseen: pd.DataFrame) -> None:
    first, again, other = (planted_with(name, normal, unseen, seed).X for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


@pytest.mark.parametrize("name", ["another row's value", "contradiction"])
def test_a_value_of_another_row_is_one_of_the_column(name: str, normal: NormalRows, unseen: pd.DataFrame) -> None:
    planted = planted_with(name, normal, unseen)
    for column in np.unique(planted.column):
        assert cells(planted.X, planted, column).isin(normal.X.iloc[:, column]).all()
        assert cells(planted.X, planted, column).notna().all()


def test_frequent_values_are_drawn_more_often() -> None:
    normal = NormalRows(pd.DataFrame({"colour": np.repeat(["red", "blue", "green"], [60, 30, 10])}, dtype=object))
    rows = pd.DataFrame({"colour": np.repeat(["red", "violet"], 2000)}, dtype=object)
    planted = plant_one(rows, PLANTINGS["another row's value"](normal), np.random.default_rng(0))
    shares = planted.X.groupby(rows["colour"])["colour"].value_counts(normalize=True)
    assert shares["red", "blue"] == pytest.approx(0.75, abs=0.03)
    assert ("red", "red") not in shares.index
    assert shares["violet", "red"] == pytest.approx(0.6, abs=0.03)


def test_a_contradiction_was_never_beside_the_value_it_depends_on(normal: NormalRows, unseen: pd.DataFrame) -> None:
    contradiction = Contradiction(normal)
    planted = plant_one(unseen, contradiction, np.random.default_rng(0))
    assert {normal.X.columns[j] for j in np.unique(planted.column)} == {"species", "breed", "legs", "weight"}
    codes, n = normal.groups.codes(planted.X), len(normal.X)
    for row, column in zip(planted.row, planted.column, strict=True):
        beside = contradiction.partner[column]
        has_value = normal.codes[:, column] == codes[row, column]
        has_partner = normal.codes[:, beside] == codes[row, beside]
        assert not (has_value & has_partner).any()
        assert has_value.sum() * has_partner.sum() / n >= EXPECTED_TOGETHER


def test_columns_that_depend_on_nothing_are_given_no_contradiction() -> None:
    rng = np.random.default_rng(0)
    free = pd.DataFrame({name: rng.choice(list("pqrs"), 500) for name in "abc"}, dtype=object)
    assert not Contradiction(NormalRows(free)).possible(free).any()
    assert len(plant_one(free, Contradiction(NormalRows(free)), rng).X) == 0


def test_a_value_never_seen_is_new_or_far_outside_the_range(normal: NormalRows, unseen: pd.DataFrame) -> None:
    planted = planted_with("never seen", normal, unseen)
    for column in np.unique(planted.column):
        new, known = cells(planted.X, planted, column), normal.X.iloc[:, column].dropna()
        assert not new.isin(known).any()
        if pd.api.types.is_numeric_dtype(known):
            distance = np.maximum(known.min() - new, new - known.max())
            assert (distance >= known.max() - known.min()).all()
        else:
            assert new.is_unique  # errors in one file must not make each other known values
    assert planted.X["legs"].dtype == np.int64


def test_a_typo_changes_drops_or_doubles_one_letter() -> None:
    rng = np.random.default_rng(0)
    typed = {mistyped("Koi", "abcdefghijklmnopqrstuvwxyz", rng) for _ in range(300)}
    assert {len(text) for text in typed} == {2, 3, 4}
    assert {text for text in typed if len(text) != 3} == {"oi", "Ki", "Ko", "KKoi", "Kooi", "Koii"}
    assert all(sum(a != b for a, b in zip(text, "Koi", strict=True)) == 1 for text in typed if len(text) == 3)
    assert "Koi" not in typed


def test_typos_in_numbers_are_other_numbers(normal: NormalRows) -> None:
    zeros = pd.DataFrame({"species": "eel", "breed": None, "legs": 0, "weight": 0.25, "number": 1}, index=range(100))
    planted = plant_one(zeros, PLANTINGS["typo"](normal), np.random.default_rng(0))
    assert set(planted.column) == {0, 2, 3}
    assert (cells(planted.X, planted, 2) != 0).all()
    assert planted.X["legs"].dtype == np.int64
    assert {0.5, 0.2, 0.225} & set(cells(planted.X, planted, 3))


@pytest.mark.parametrize("share", [0.005, 0.05])
def test_a_share_of_a_files_cells_is_wrong_in_all_ways_alike(share: float, pets: pd.DataFrame) -> None:
    normal = NormalRows(pets)
    ways = {name: planting(normal) for name, planting in PLANTINGS.items()}
    planted = plant_share(pets, ways, share, np.random.default_rng(0))
    changed = (pets != planted.X) & ~(planted.X.isna() & pets.isna())
    np.testing.assert_array_equal(changed.to_numpy(), planted.wrong)
    assert planted.wrong.sum() == round(share * pets.size)
    assert len(np.unique(planted.row * pets.shape[1] + planted.column)) == len(planted.row)


def test_association_is_one_for_what_follows_and_none_for_chance() -> None:
    rng = np.random.default_rng(0)
    first, free = rng.integers(0, 6, 2000), rng.integers(0, 50, 2000)
    codes = np.stack([first, (first + 1) % 6, free], axis=1)
    found = associations(codes, np.array([6, 6, 50]))
    assert found[0, 1] == pytest.approx(1.0, abs=0.01)
    assert found[0, 2] < 0.01
    assert found[0, 0] == 0


def test_only_columns_in_which_no_value_repeats_are_left_alone(pets: pd.DataFrame) -> None:
    assert identifies_rows(pets).tolist() == [False, False, False, False, True]
