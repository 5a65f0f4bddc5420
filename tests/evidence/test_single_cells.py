"""A single cell is odd if another value was likelier by far, more than is usual for its column."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from maskdiff import TableDetector, load, save
from maskdiff.codes import Codes, Field, Schema
from maskdiff.evidence.single_cells import ColumnScale, SingleCells
from maskdiff.evidence.usual_values import UsualValues
from maskdiff.masking import Linear
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.training import Steps, Training


def table(n, seed):
    """`twin` repeats `first`; `noise` has many values and no meaning; the rest is constant but for a few rows."""
    rng = np.random.default_rng(seed)
    first = rng.choice(["a", "b", "c", "d"], n)
    others = {f"other{j}": np.where(rng.random(n) < 0.03, "odd", "even") for j in range(8)}
    return pd.DataFrame({"first": first, "twin": first, "noise": rng.integers(0, 40, n).astype(str), **others})


@pytest.fixture(scope="module")
def detector():
    quick = MLPReconstructor(width=64, training=Training(Steps(300)))
    return TableDetector(quick, cross_fit_up_to=0, progress=False).fit(table(2000, 0))


@pytest.fixture(scope="module")
def contradicting():
    rows = table(300, 1)
    rows["twin"] = rows["first"].map({"a": "b", "b": "c", "c": "d", "d": "a"})
    return rows


def test_a_contradiction_is_an_alarm_that_the_score_alone_would_miss(detector, contradicting):
    verdicts = detector.judge(contradicting)
    by_score = verdicts.anomaly_score > np.quantile(detector.anomaly_score(table(2000, 2)), 0.99)
    assert verdicts.is_anomaly.mean() > 0.85
    assert by_score.mean() < 0.6


def test_both_cells_of_a_contradiction_are_the_first_reasons_and_the_rest_is_not_listed(detector, contradicting):
    reasons = detector.explain(contradicting, top=3)
    first = reasons.groupby("row").head(2).groupby("row")["column"].agg(set)
    assert (first == {"first", "twin"}).mean() > 0.8
    assert (reasons["value"] != reasons["expected"]).all()


def test_normal_rows_keep_the_promised_rate(detector):
    alarms = detector.is_anomaly(table(3000, 3), 0.05)
    assert 0.02 < alarms.mean() < 0.09


def test_a_column_of_many_values_is_not_odd_for_being_rarely_guessed(detector):
    odd = detector.judge(table(3000, 4)).cells
    names = [field.name for field in detector.encoder_.schema_]
    # Measured by what is usual there, no column has more than its part of the oddest cells.
    oddest = odd.oddness.argmax(axis=1)[odd.oddness.max(axis=1) > 3]
    assert (oddest == names.index("noise")).mean() < 0.5
    np.testing.assert_allclose((odd.p_value <= 0.05).mean(axis=0), 0.05, atol=0.05)


def test_log_odds_are_nothing_where_a_cell_holds_what_was_expected(detector):
    rows = table(200, 5)
    cells = detector.judge(rows).cells
    at = [field.name for field in detector.encoder_.schema_].index("twin")
    assert (cells.log_odds[:, at] < 1e-4).mean() > 0.95
    assert (cells.log_odds >= 0).all()


def test_a_value_never_seen_is_odd_in_any_column(detector):
    for column in ("twin", "noise", "other3"):
        rows = table(50, 6)
        rows[column] = "never seen"
        verdicts = detector.judge(rows)
        assert verdicts.is_anomaly.mean() > 0.9, column
        assert (detector.explain(rows, top=1)["column"] == column).mean() > 0.9


def test_verdicts_on_cells_are_stored_with_the_model(detector, contradicting, tmp_path):
    save(detector, tmp_path / "m.maskdiff")
    again, before = load(tmp_path / "m.maskdiff").judge(contradicting), detector.judge(contradicting)
    np.testing.assert_array_equal(again.cells.oddness, before.cells.oddness)
    np.testing.assert_array_equal(again.cells.p_value, before.cells.p_value)
    np.testing.assert_array_equal(again.alarm_score, before.alarm_score)


def test_rows_taken_bring_their_cells_along(detector, contradicting):
    verdicts = detector.judge(contradicting)
    some = verdicts.take(np.array([4, 2]))
    np.testing.assert_array_equal(some.cells.oddness, verdicts.cells.oddness[[4, 2]])
    np.testing.assert_array_equal(some.by_term, verdicts.by_term[[4, 2]])


def test_without_a_share_rows_are_alarms_by_their_score_alone(contradicting):
    quick = MLPReconstructor(width=64, training=Training(Steps(100)))
    detector = TableDetector(quick, cell_share=0, cross_fit_up_to=0, progress=False).fit(table(600, 0))
    verdicts = detector.judge(contradicting)
    np.testing.assert_array_equal(verdicts.alarm_score, verdicts.anomaly_score)
    assert not verdicts.cells.is_anomaly.any()


def test_a_reconstructor_that_is_not_asked_still_says_which_cells_are_odd(contradicting):
    cells = TableDetector("kernel").fit(table(600, 0)).judge(contradicting).cells
    assert cells.log_odds is None
    assert set(cells.oddness.mean(axis=0).argsort()[-2:]) == {0, 1}


def test_a_rare_value_is_odd_only_where_it_is_odder_than_elsewhere():
    """One row in fifty is urgent, whatever else is in it, but never a small one."""
    schema = Schema(
        (Field("urgent", "category", ("no", "yes"), (980, 20)), Field("size", "category", ("s", "l"), (500, 500)))
    )
    codes = Codes(np.array([[1, 1]] * 20 + [[0, 1]] * 480 + [[0, 0]] * 500), schema)
    log_odds = np.zeros(codes.values.shape)
    log_odds[:20, 0] = 3.0
    cells = replace(SingleCells(MLPReconstructor(), Linear(), 0.1), usual=UsualValues.of(codes, log_odds))
    new = Codes(np.array([[1, 1], [1, 0], [2, 0]]), schema)
    beyond = cells.beyond(np.array([[3.0, 0.0], [8.0, 0.0], [8.0, 0.0]]), new)
    np.testing.assert_allclose(beyond[:, 0], [3.0 - 60 / 25, 8.0 - 60 / 25, 8.0])


def test_what_is_usual_for_values_is_learned_from_rows_that_were_learned_from(detector):
    usual = detector.cell_alarms_.cells.usual.of_cells(detector.encoder_.encode(table(300, 7)))
    names = [field.name for field in detector.encoder_.schema_]
    odd = (table(300, 7)["other3"] == "odd").to_numpy()
    assert usual[odd, names.index("other3")].min() > 1.5
    assert usual[~odd, names.index("other3")].max() < 0.1


def test_in_wide_tables_every_cell_is_hidden_once_in_few_views():
    cells = SingleCells(MLPReconstructor(), Linear(), 0.1)
    for n_fields in (3, 32, 33, 500):
        hidden = cells.hidden_views(n_fields)
        assert len(hidden) == min(n_fields, 32)
        assert hidden.sum(dim=0).eq(torch.ones(n_fields)).all()
        assert hidden.sum(dim=1).max() <= -(-n_fields // 32)


def test_few_rows_do_not_make_a_column_that_never_deviated_infinitely_sensitive():
    log_odds = np.zeros((60, 5))
    log_odds[:, 0] = np.random.default_rng(0).exponential(size=60)
    scale = ColumnScale.of(log_odds)
    assert scale.scale_F[1:].min() > 0.2 * scale.scale_F[0]
