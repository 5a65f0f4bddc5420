"""One dirty table is all there is: its wrong cells are listed and repaired by models that did not see their rows."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest

import maskdiff
from maskdiff import MLPReconstructor, Steps, Training
from maskdiff.detectors.finding.found_cells import judge_cells
from maskdiff.errors import SettingError

from ...wrong_cells import OTHER_OFFICE, make_contracts

OFFICES = {3, 13, 523, 1333, 1433}
COLOURS = {50, 151, 852, 1353}


@cache
def dirty_contracts() -> pd.DataFrame:
    """1600 contracts of few columns; 9 of their cells are wrong."""
    rows = make_contracts(1600, 1)[["plan", "office", "limit", "colour"]]
    offices, colours = (rows.index[sorted(places)] for places in (OFFICES, COLOURS))
    rows.loc[offices, "office"] = rows.loc[offices, "office"].map(OTHER_OFFICE)
    rows.loc[colours, "colour"] = ["purple", "mauve", "teal", "ochre"]
    return rows


@cache
def findings() -> maskdiff.Findings:
    network = MLPReconstructor(width=32, layers=2, training=Training(Steps(120)))
    detector = maskdiff.TableDetector(network, probes=maskdiff.ProbeGrid((0.3,), 4), progress=False)
    return maskdiff.find(dirty_contracts(), detector=detector)


def test_the_wrong_cells_of_the_rows_that_were_learned_from_are_listed():
    cells = findings().odd_cells(dirty_contracts())
    listed = set(zip(cells["row"], cells["column"], strict=True))
    wrong = {(row, "office") for row in OFFICES} | {(row, "colour") for row in COLOURS}
    assert wrong <= listed
    assert len(listed) <= 2 * len(wrong)  # where an office is wrong, plan and limit contradict it
    assert (np.diff(cells["oddness"]) <= 0).all()
    assert cells.index[0] == dirty_contracts().index[cells["row"].iloc[0]]


def test_they_are_repaired_in_a_copy():
    rows, right = dirty_contracts(), make_contracts(1600, 1)
    before = rows.copy()
    repair = findings().repair(rows)
    pd.testing.assert_frame_equal(rows, before)
    offices = sorted(OFFICES)
    assert repair.rows["office"].iloc[offices].tolist() == right["office"].iloc[offices].tolist()
    kept = repair.changes[repair.changes["column"] == "colour"]
    assert not kept["changed"].any()  # any of three colours may be meant


def test_cells_stay_with_their_rows_where_these_are_put_in_another_order():
    ranked = findings().ranked()
    rows = dirty_contracts().loc[ranked.labels]
    again = ranked.odd_cells(rows)
    cells = findings().odd_cells(dirty_contracts())
    assert set(zip(again.index, again["column"], strict=True)) == set(zip(cells.index, cells["column"], strict=True))


def test_a_table_without_errors_is_left_as_it_is():
    rows = make_contracts(400, 2)[["plan", "office", "colour"]]
    repair = maskdiff.repair(rows, detector=maskdiff.TableDetector("kernel", progress=False))
    assert not len(repair.changes)
    pd.testing.assert_frame_equal(repair.rows, rows)


def test_hardly_a_number_is_listed_where_all_are_fine():
    """The rounds leave the oddest rows out; to models that did not learn from them, all large amounts would be new."""
    rows = make_contracts(400, 1)
    cells = maskdiff.find(rows, detector=maskdiff.TableDetector("kernel", progress=False)).odd_cells(rows)
    assert len(cells) <= 3


def test_cells_of_frequent_rows_are_not_listed_and_count_as_before_for_the_others():
    """All copies of a row are in one fold: who judges them may have met their values in other company only."""
    rows = dirty_contracts()
    found = findings().cells
    assert found is not None
    frequent = np.isin(np.arange(len(rows)), sorted(COLOURS))
    batches = [maskdiff.TableDetector()._read(rows)]
    judged = partial(judge_cells, found.judges, lambda: batches, findings().codes.schema)
    without = replace(findings(), cells=judged(frequent=frequent)).odd_cells(rows)
    with_them = replace(findings(), cells=judged()).odd_cells(rows)
    assert set(with_them["row"]) >= COLOURS
    assert not COLOURS & set(without["row"])
    assert len(without)
    both = without.merge(with_them, on=["row", "column"], validate="one_to_one")
    assert len(both) == len(without)
    np.testing.assert_array_equal(both["oddness_x"], both["oddness_y"])


def test_a_search_lists_no_cell_of_a_row_with_many_copies():
    rows = pd.DataFrame({"pet": ["cat", "dog"] * 300, "says": ["meow", "woof"] * 300, "age": range(600)})
    rows["age"] %= 3
    rows.loc[20:31, ["pet", "says", "age"]] = ["cat", "woof", 1]
    rows.loc[40, "says"] = "woof"
    network = MLPReconstructor(width=32, layers=2, training=Training(Steps(120)))
    detector = maskdiff.TableDetector(network, probes=maskdiff.ProbeGrid((0.3,), 4), progress=False)
    listed = maskdiff.find(rows, detector=detector).odd_cells(rows, 0.5)["row"].to_numpy()
    assert not set(range(20, 32)) & set(listed)


def test_rows_of_texts_have_no_cells_to_list():
    with pytest.raises(SettingError, match="only tables have cells"):
        replace(findings(), detector=maskdiff.TextDetector()).odd_cells(["a text"])


@pytest.mark.filterwarnings("ignore::maskdiff.errors.NearIdWarning")
def test_a_value_that_repeats_is_not_wrong_because_most_do_not():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], 900)
    # In rows of one kind hardly any number repeats; ten rows among them hold one that does.
    number = np.where(kind == "a", rng.integers(1000, 9999, 900), rng.integers(0, 4, 900))
    number[np.flatnonzero(kind == "a")[:10]] = 2
    rows = pd.DataFrame({"kind": kind, "number": [f"no {one}" for one in number], "wing": np.where(kind == "a", 1, 2)})
    detector = maskdiff.TableDetector("kernel", progress=False).fit(rows)
    field = detector.encoder_.schema_.fields[1]
    log_odds, _, values = detector.cell_log_odds(rows)
    repeat = (kind == "a") & (values[:, 1] != field.rare)
    assert field.label(field.rare) == "rare"
    assert repeat.sum() == 10
    assert (log_odds[repeat, 1] == 0).all()
