"""What explanations promise: they name the cells that carry the score, and agree with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff.errors import SettingError

from .cases import explained, judged, rows_scored_alike, scored

ALL_CELLS = 1000


def test_an_explanation_has_the_same_columns_everywhere(case, detector):
    table = explained(detector, case)
    assert [*list(table)[:2], *list(table)[-9:]] == [
        *("row", "column", "value", "contribution", "share"),
        *("surprise", "expected", "expected_probability", "contradicts", "oddity", "note"),
    ]
    assert set(table["column"]) <= set(case.rows.columns)
    assert (table["expected_probability"] > 0).all()
    assert (table["expected_probability"] <= 1 + 1e-6).all()


def test_all_cells_together_carry_the_whole_score(case, detector):
    scores, contributions = scored(detector, case), detector.contributions(case.rows)
    cells = judged(detector, case).cells
    if cells is not None and cells.log_odds is not None:  # cells that hold what was expected are no reasons
        np.testing.assert_allclose(contributions.sum(axis=1), scores)
        return
    table = explained(detector, case, top=ALL_CELLS)
    named, share = (table.groupby("row")[name].sum().to_numpy() for name in ("contribution", "share"))
    # A cell that takes away from the score is not named; the others then carry more than all of it.
    all_add = (contributions >= 0).all(axis=1)
    assert all_add.any()
    np.testing.assert_allclose(named[all_add], scores[all_add])
    np.testing.assert_allclose(share[all_add], 1)
    assert (named[~all_add] > scores[~all_add]).all()


def test_shares_are_parts_of_the_score_and_the_strongest_cells_come_first(case, detector):
    verdicts = judged(detector, case)
    table = explained(detector, case, top=ALL_CELLS)
    np.testing.assert_allclose(table["share"], table["contribution"] / verdicts.anomaly_score[table["row"]])
    strength = table["contribution"]
    if verdicts.cells is not None and verdicts.cells.log_odds is not None:  # single cells were asked about
        place = [field.name for field in detector.encoder_.schema_].index
        ranked = detector.reason_strength(verdicts)
        strength = pd.Series(ranked[table["row"], table["column"].map(place)], table.index)
        assert (table.groupby("row").size() <= np.maximum((verdicts.cells.log_odds > 0).sum(axis=1), 1)).all()
    for _, of_row in strength.groupby(table["row"]):
        assert (np.diff(of_row) <= 0).all()


def test_the_first_cells_are_the_strongest_of_all(case, detector):
    first, every = detector.explain(case.rows, top=2), explained(detector, case, top=ALL_CELLS)
    strongest = every.groupby("row").head(2)
    pd.testing.assert_frame_equal(first, strongest)


def test_rows_are_numbered_by_their_place_and_labelled_by_their_index(case, detector):
    by_place = explained(detector, case)
    assert by_place.index.tolist() == by_place["row"].tolist()
    labels = [f"claim {place}" for place in range(len(case.rows))][::-1]
    by_label = detector.explain(case.rows.set_axis(labels))
    assert by_label.index.tolist() == [labels[row] for row in by_label["row"]]
    pd.testing.assert_frame_equal(by_label.reset_index(drop=True), by_place.reset_index(drop=True))


def test_verdicts_handed_in_save_a_second_scoring_and_change_nothing(case, detector):
    verdicts = judged(detector, case)
    pd.testing.assert_frame_equal(detector.explain(case.rows, verdicts=verdicts), explained(detector, case))
    chosen = rows_scored_alike(detector)
    some = detector.explain(case.rows.iloc[chosen], verdicts=verdicts.take(np.array(chosen)))
    alone = detector.explain(case.rows.iloc[chosen])
    pd.testing.assert_frame_equal(some, alone, check_exact=False, rtol=1e-4)


@pytest.mark.parametrize("top", [0, -1])
def test_at_least_one_cell_is_named(case, detector, top):
    with pytest.raises(SettingError, match="top must be at least 1"):
        detector.explain(case.rows, top=top)
