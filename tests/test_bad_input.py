"""Tables nobody hopes for: each is refused by name with the way out, or has a defined behaviour stated here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.errors import (
    ColumnError,
    ColumnTypeError,
    EmptyTableError,
    InputError,
    LeftOutWarning,
    UnknownColumnError,
)

SMALL = MLPReconstructor(8, 2, training=Training(Steps(3)))


@pytest.fixture(params=[SMALL, "kernel"], ids=["mlp", "kernel"])
def detector(request):
    """Not fitted yet."""
    return TableDetector(request.param)


@pytest.fixture
def fitted(detector, normal_rows):
    return detector.fit(normal_rows)


# Empty and tiny ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [pd.DataFrame(), pd.DataFrame(index=range(5)), np.empty((5, 0)), pl.DataFrame()])
def test_a_table_without_columns_is_refused(detector, table):
    with pytest.raises(EmptyTableError, match="no columns"):
        detector.fit(table)


def test_a_table_without_rows_is_refused_at_fit(detector, normal_rows):
    with pytest.raises(EmptyTableError, match="no rows to learn from"):
        detector.fit(normal_rows.head(0))


def test_no_rows_to_score_get_no_scores(fitted, normal_rows):
    none = normal_rows.head(0)
    assert fitted.anomaly_score(none).shape == (0,)
    assert fitted.p_value(none).shape == (0,)
    assert fitted.predict(none).shape == (0,)
    assert fitted.select(none, 0.1).shape == (0,)
    assert fitted.contributions(none).shape == (0, 4)
    assert len(fitted.explain(none)) == 0


def test_one_row_is_too_little_to_learn_from_and_enough_to_score(detector, normal_rows):
    with pytest.raises(InputError, match=r"at least [23] normal rows are needed"):
        detector.fit(normal_rows.head(1))
    assert detector.fit(normal_rows).anomaly_score(normal_rows.head(1)).shape == (1,)


def test_very_few_rows_are_enough(detector, normal_rows):
    """Two, or three where one has to say what is usual for single cells."""
    fewest = 2 if detector.reconstructor == "kernel" else 3
    verdicts = detector.fit(normal_rows.head(fewest)).judge(normal_rows.head(10))
    assert np.isfinite(verdicts.anomaly_score).all()
    assert np.isfinite(verdicts.alarm_score).all()


def test_one_column_is_enough(detector):
    table = pd.DataFrame({"pet": ["cat"] * 50 + ["dog"] * 10})
    scores = detector.fit(table).anomaly_score(pd.DataFrame({"pet": ["cat", "dog", "cow"]}))
    assert scores[0] < scores[2]
    assert scores[1] <= scores[2] + 1e-5


# Columns that say nothing --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT])
def test_a_column_without_any_value_is_left_out_with_a_notice(detector, normal_rows, nothing):
    with pytest.warns(LeftOutWarning, match=r"left out: 'gone' \(all values are missing\)"):
        detector.fit(normal_rows.assign(gone=nothing))
    assert "gone" not in detector.encoder_.schema_.names
    scores = detector.anomaly_score(normal_rows.head(3).assign(gone="something"))
    np.testing.assert_array_equal(detector.anomaly_score(normal_rows.head(3)), scores)


def test_a_table_of_nothing_but_missing_values_is_refused(detector):
    with pytest.raises(EmptyTableError, match=r"no column is left to learn from.*'gone'"):
        detector.fit(pd.DataFrame({"gone": [None] * 30}))


def test_a_constant_column_surprises_only_when_it_changes(detector, normal_rows):
    detector.fit(normal_rows.assign(country="NZ"))
    same, other = (detector.judge(normal_rows.head(5).assign(country=name)).surprise[:, 4] for name in ("NZ", "FR"))
    assert (same < 1e-4).all()
    assert (other > np.log(300)).all()


@pytest.mark.parametrize("key", [range(600), [f"row-{i}" for i in range(600)]])
def test_a_row_id_is_left_out_with_a_notice(detector, normal_rows, key):
    with pytest.warns(LeftOutWarning, match=r"'id' \(a row id: .*columns="):
        detector.fit(normal_rows.assign(id=list(key)))
    assert "id" not in detector.encoder_.schema_.names


# Columns that are not the ones of fit --------------------------------------------------------------------------------


def test_two_columns_of_one_name_are_refused(detector, fitted, normal_rows):
    twice = pd.concat([normal_rows, normal_rows[["flag"]]], axis=1)
    with pytest.raises(UnknownColumnError, match=r"more than one column is named 'flag'\. Rename or drop"):
        fitted.anomaly_score(twice)
    with pytest.raises(UnknownColumnError, match=r"more than one column is named 'flag'\. Rename or drop"):
        detector.fit(twice)


def test_a_missing_column_is_named(fitted, odd_rows):
    with pytest.raises(UnknownColumnError, match="Missing: 'flag'; add them, or fit again without them"):
        fitted.anomaly_score(odd_rows.drop(columns="flag"))


def test_an_extra_column_is_named(fitted, odd_rows):
    with pytest.raises(UnknownColumnError, match="Not seen during fit: 'port'; drop them, or"):
        fitted.anomaly_score(odd_rows.assign(port=80))


def test_an_array_of_another_width_is_refused(fitted, odd_rows):
    with pytest.raises(UnknownColumnError, match=r"has 3 features, but .* expecting 4 features"):
        fitted.anomaly_score(odd_rows.to_numpy()[:, :3])


@pytest.mark.parametrize("thing", [np.zeros(4), "tcp,http,SF,215", 7, None, pl.LazyFrame({"a": [1]})])
def test_what_is_no_table_is_refused_with_what_is(fitted, detector, thing):
    with pytest.raises(InputError, match="expected a pandas or polars DataFrame, a pyarrow Table, or a two-dim"):
        fitted.anomaly_score(thing)
    with pytest.raises(InputError, match="expected a pandas or polars DataFrame, a pyarrow Table, or a two-dim"):
        detector.fit(thing)


def test_a_way_to_read_a_column_that_is_not_there_is_refused(normal_rows):
    with pytest.raises(UnknownColumnError, match="'port', but the table has only 'protocol', 'service'"):
        TableDetector(SMALL, columns={"port": "category"}).fit(normal_rows)


# Values of another kind ----------------------------------------------------------------------------------------------


def test_numbers_written_as_text_are_the_same_numbers(fitted, odd_rows):
    as_text = odd_rows.assign(bytes=odd_rows["bytes"].astype(str))
    np.testing.assert_array_equal(fitted.anomaly_score(as_text), fitted.anomaly_score(odd_rows))
    as_float = odd_rows.assign(bytes=odd_rows["bytes"].astype(float))
    np.testing.assert_array_equal(fitted.anomaly_score(as_float), fitted.anomaly_score(odd_rows))


def test_text_where_numbers_were_is_unseen_cell_by_cell(fitted, normal_rows):
    rows = normal_rows.head(3).assign(bytes=["many", normal_rows["bytes"][1], None])
    known = fitted.encoder_.encode(rows).known[:, 3]
    assert known.tolist() == [False, True, False]
    assert fitted.anomaly_score(rows)[1] == pytest.approx(fitted.anomaly_score(normal_rows.head(3))[1], rel=1e-5)


def test_dates_where_numbers_were_are_refused_by_name(fitted, odd_rows):
    with pytest.raises(ColumnTypeError, match="column 'bytes' was to be read as numbers, but holds"):
        fitted.anomaly_score(odd_rows.assign(bytes=pd.Timestamp("2024-01-01")))


def test_numbers_where_categories_were_are_unseen(fitted, odd_rows):
    assert not fitted.encoder_.encode(odd_rows.assign(flag=[1, 2, 3, 4])).known[:, 2].any()


def test_infinite_numbers_are_refused_at_fit_by_name(detector, normal_rows):
    table = normal_rows.astype({"bytes": float})
    table.loc[[3, 5], "bytes"] = np.inf
    with pytest.raises(ColumnError, match=r"column 'bytes' holds .*infinite"):
        detector.fit(table)


def test_infinite_and_far_too_large_numbers_are_scored_as_unseen(fitted, odd_rows):
    rows = odd_rows.assign(bytes=[np.inf, -np.inf, 1e300, 60])
    assert fitted.encoder_.encode(rows).known[:, 3].tolist() == [False, False, False, True]
    assert np.isfinite(fitted.anomaly_score(rows)).all()


def test_integers_too_large_for_a_machine_are_numbers_too(detector, normal_rows):
    huge = [2**70 + 2**60 * (i % 50) for i in range(600)]
    detector.fit(normal_rows.assign(huge=huge))
    field = detector.encoder_.schema_.fields[4]
    assert (field.type, field.size) == ("number", 15)
    assert np.isfinite(detector.anomaly_score(normal_rows.head(4).assign(huge=[2**70, 2**80, -(2**90), 1]))).all()


def test_mixed_types_in_one_column_are_categories(detector, normal_rows):
    detector.fit(normal_rows.assign(mixed=[1, "a", None, 2.5, True] * 120))
    field = detector.encoder_.schema_.fields[4]
    assert field.labels == ("1", "2.5", "True", "a", "missing")
    assert np.isfinite(detector.anomaly_score(normal_rows.head(2).assign(mixed=[b"a", 10**30]))).all()


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, (1, 2)])
def test_cells_that_hold_many_values_are_refused_by_name(detector, normal_rows, cell):
    table = normal_rows.assign(basket=pd.Series([cell] * 600, dtype=object))
    with pytest.raises(ColumnTypeError, match="column 'basket' holds nested values"):
        detector.fit(table)


def test_unseen_values_everywhere_are_odder_than_nearly_all_normal_rows(fitted, normal_rows):
    row = pd.DataFrame({"protocol": ["?"], "service": ["?"], "flag": ["?"], "bytes": ["?"]})
    assert fitted.anomaly_score(row)[0] > np.quantile(fitted.anomaly_score(normal_rows), 0.99)
